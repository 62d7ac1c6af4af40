"""Groups between the protocols: classic members in consumer groups, and both conversions."""
