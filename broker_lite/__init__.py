"""broker-lite: a Kafka-compatible broker for people who test and load-test Kafka clients."""
