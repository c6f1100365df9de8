"""Observe, decide, apply, prune, report: the level-triggered loop."""
