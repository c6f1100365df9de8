"""What a replica serves: latency and throughput estimated from the plan, and the fleet that a demand needs; pure."""
