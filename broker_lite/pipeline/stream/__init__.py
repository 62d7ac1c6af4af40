"""Reading a log while a broker writes to it."""
