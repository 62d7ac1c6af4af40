"""New segments from rows: encoded, staged, committed."""
