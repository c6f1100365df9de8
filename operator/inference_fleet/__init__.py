"""Inference Fleet Operator."""
