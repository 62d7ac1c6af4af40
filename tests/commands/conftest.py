"""A running broker, and the command line."""

from tests.support.broker_fixtures import bootstrap, old_bootstrap, topic
from tests.support.command_line import command

__all__ = ["bootstrap", "command", "old_bootstrap", "topic"]
