"""broker-lite: a Kafka-compatible broker for people who test and load-test Kafka clients."""

from broker_lite import native

__version__ = "0.1.0"

native.watch(__name__, __path__[0])
