"""`broker-lite configs`: configs and quotas, printed and changed."""
