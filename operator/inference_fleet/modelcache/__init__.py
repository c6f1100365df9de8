"""The model on the node: keys, layout, and the transfer that `inference-fleet pull` runs."""
