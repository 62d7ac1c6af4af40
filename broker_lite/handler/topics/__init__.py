"""Requests about topics: what there is, and making, changing and deleting them."""
