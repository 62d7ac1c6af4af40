"""Code that several commands share: connecting, flags, tables, errors, progress."""
