"""`broker-lite topics` and `broker-lite offsets`, and how partitions are chosen."""
