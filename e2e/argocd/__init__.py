"""A real Argo CD without containers, beside a local cluster: for tests of what GitOps users see.

`python -m e2e.argocd` builds it into the user's cache; the tests marked `argocd` run where that has been done.
"""
