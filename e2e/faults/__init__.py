"""Models pulled through a store, a network and a node that fail: seeded, checked after every step.

`python -m e2e.faults --runs 1000` runs on a real S3 server behind a proxy that cuts, resets, refuses and slows.
"""
