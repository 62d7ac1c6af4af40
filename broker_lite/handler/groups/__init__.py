"""Handlers of requests about groups and the offsets that they commit."""
