"""`python -m e2e.argocd`: build Argo CD, once per user and version. About ten minutes on two cores."""

from e2e.argocd.build import build, cached
from e2e.cluster.cluster import to_stderr

if cached() is None:
    build(to_stderr)
to_stderr("Argo CD is built; `pytest -m argocd` runs its tests")
