"""Which pods serve and which stand by. Pure."""
