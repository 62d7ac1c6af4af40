"""`broker-lite groups`: listing, describing and deleting groups, and resetting offsets."""
