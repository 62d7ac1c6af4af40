"""Pages about a log, for a browser."""
