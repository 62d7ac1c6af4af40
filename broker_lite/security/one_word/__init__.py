"""Certificates, keys and users that the broker makes for itself, and what clients need of them."""
