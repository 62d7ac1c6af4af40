"""A running broker."""

from tests.support.broker_fixtures import bootstrap, topic

__all__ = ["bootstrap", "topic"]
