"""`broker-lite log search`: finds and prints records in the files of logs."""
