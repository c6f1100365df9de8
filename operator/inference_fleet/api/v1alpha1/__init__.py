"""inferencefleet.io/v1alpha1."""
