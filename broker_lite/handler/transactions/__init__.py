"""Requests about producers and their transactions."""
