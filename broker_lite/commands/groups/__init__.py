"""`broker-lite groups`: list, describe and delete groups, and reset offsets."""
