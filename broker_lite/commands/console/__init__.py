"""`broker-lite produce` and `broker-lite consume`: lines as records, records as lines."""
