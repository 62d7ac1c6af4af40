"""Requests about groups and the offsets that they commit."""
