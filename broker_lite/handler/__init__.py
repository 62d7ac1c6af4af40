"""The handler room."""
