"""`broker-lite topics` and `broker-lite offsets`."""
