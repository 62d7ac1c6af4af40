"""`broker-lite spark`: jobs on logs, which are listed in `jobs`."""
