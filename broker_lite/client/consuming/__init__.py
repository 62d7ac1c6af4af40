"""Reads records: fetches, and membership in a group."""
