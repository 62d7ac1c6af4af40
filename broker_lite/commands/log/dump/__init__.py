"""`broker-lite log dump`: what is in a log's files, as kafka-dump-log prints it or as JSON."""
