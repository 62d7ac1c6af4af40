"""`broker-lite configs`: print and change configs and quotas."""
