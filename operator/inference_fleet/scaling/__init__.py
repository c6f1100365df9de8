"""From past demand to a number of replicas: forecast, floor, decision, standby, and their replay. Pure, numpy only."""
