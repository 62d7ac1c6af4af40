"""`broker-lite produce` and `broker-lite consume`, Kafka's console producer and consumer."""
