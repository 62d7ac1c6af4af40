"""A log that holds records back, and what flushes it when the test says so."""

from pathlib import Path

from broker_lite import errors
from broker_lite.log.config import LogConfig
from broker_lite.log.log import Log
from broker_lite.log.visibility import Commits, Visibility
from tests.log.logs import FOREVER_MS, open_log

Outcome = errors.KafkaStorageError | None


class Flushes:
    """Notes which flushes are asked for; the test makes them.

    Attributes:
        asked: the logs that asked for a flush, as `Visibility`.
    """

    def __init__(self) -> None:
        self.commits = Commits()
        self.commits.start = self.started
        self.asked: list[Visibility] = []

    def started(self, log: Visibility) -> None:
        self.asked.append(log)


def held_log(directory: Path, flush_messages: int = 1) -> tuple[Log, Flushes]:
    """A log that asks for a flush of every so many messages."""
    config = LogConfig(flush_messages=flush_messages, segment_ms=FOREVER_MS)
    log, flushes = open_log(directory, config), Flushes()
    log.visibility.commits = flushes.commits
    return log, flushes
