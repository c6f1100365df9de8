"""Everything that runs the operator for real: the local cluster, the demo, the benches."""
