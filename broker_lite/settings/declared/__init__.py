"""The declarations: one entry for each setting, in the file of its subject."""
