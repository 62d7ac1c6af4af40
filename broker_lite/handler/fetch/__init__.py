"""Fetch: sessions, the long poll, and reading the requested bytes from the logs."""
