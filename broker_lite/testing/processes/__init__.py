"""The processes of brokers for tests: one that forks them, and the lines to each."""
