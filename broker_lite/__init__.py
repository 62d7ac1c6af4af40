"""broker-lite: a Kafka-compatible broker for people who test and load-test Kafka clients."""

__version__ = "0.1.0"
