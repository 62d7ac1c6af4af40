"""Where values come from: files, environment, flags, and the memory that the machine has."""
