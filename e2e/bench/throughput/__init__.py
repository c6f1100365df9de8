"""Throughput estimates against published measurements."""
