"""Fetch: sessions, the long poll, and which bytes of which logs are the answer."""
