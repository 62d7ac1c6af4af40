"""Handlers of requests about topics: describe, create, change and delete them."""
