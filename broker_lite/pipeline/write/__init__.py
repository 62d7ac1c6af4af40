"""Writing rows as new segments: encode, stage, commit."""
