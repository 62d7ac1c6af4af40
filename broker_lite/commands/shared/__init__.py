"""What several commands need: connecting, flags, tables, errors, progress."""
