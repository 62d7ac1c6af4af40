"""A running broker."""

from tests.support.broker_fixtures import bootstrap, old_bootstrap, topic

__all__ = ["bootstrap", "old_bootstrap", "topic"]
