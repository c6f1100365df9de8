"""Kopf decorators: put the event in the cache, enqueue the service's key. Nothing else."""
