"""A plan in, Kubernetes manifests out: one file per kind of child. Pure."""
