"""Requests about committed offsets, and how offsets expire. The offsets: committed_offsets.py."""
