"""Reading a log that goes on: what is new, from a checkpoint on, beside a broker."""
