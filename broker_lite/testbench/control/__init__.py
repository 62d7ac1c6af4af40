"""The control API: one table of resources, and one function that serves them as JSON."""
