"""Records that are wrong in one way, for clients that fetch; the log keeps the right ones."""
