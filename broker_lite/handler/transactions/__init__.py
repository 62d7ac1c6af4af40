"""Handlers of requests about producers and their transactions."""
