"""The sources of values: files, environment variables, flags, and the memory of the machine."""
