"""The only I/O: the Kubernetes API and the object store."""
