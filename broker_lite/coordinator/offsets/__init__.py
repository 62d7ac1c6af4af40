"""Requests for committed offsets, and their expiry; committed_offsets.py stores the offsets."""
