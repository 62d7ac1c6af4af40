"""HTML pages about a log."""
