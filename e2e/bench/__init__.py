"""Speed and memory of the operator, measured on a real control plane.

`python -m e2e.bench` (or `make bench`) measures everything with 1,000 services; names and `--services` measure less.
Times are compared with a floor taken in the same run on the same machine, so that the ratio says something anywhere.
"""
