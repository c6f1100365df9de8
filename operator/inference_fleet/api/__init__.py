"""What users write and read: the resource, its conditions, its labels and names."""
