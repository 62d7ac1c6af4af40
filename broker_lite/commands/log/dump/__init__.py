"""`broker-lite log dump`: print the files of a log, as kafka-dump-log does or as JSON."""
