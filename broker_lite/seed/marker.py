"""A file that makes a seed all or nothing: it names the topics that are being written.

It exists from before the first record until after the last one. If an error, a signal or a crash
ends a seed in between, the next start finds the file and empties these topics. No client has ever
seen their records.
"""

import logging
from pathlib import Path
from typing import Final

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.errors import KafkaStorageError

SEED_MARKER_FILE: Final = "broker-lite-seed-unfinished"
_ONE_REPLICA: Final = 1

_log = logging.getLogger("broker_lite.seed")


class Marker:
    """The file in a data directory; on a disk error, methods raise KafkaStorageError."""

    def __init__(self, data_dir: Path) -> None:
        """Keep the path; nothing is read or written yet."""
        self._path = data_dir / SEED_MARKER_FILE

    def topics(self) -> list[str]:
        """Return the topics.

        A last name that was cut off is left out, because its topic has no records yet.
        """
        try:
            lines = self._path.read_text("ascii").splitlines(keepends=True)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._failure(error) from error
        except UnicodeDecodeError as error:
            reason = "it is damaged, so it is unknown which topics a seed left unfinished"
            raise KafkaStorageError(f"{self._path}: {reason}") from error
        return [line[:-1] for line in lines if line.endswith("\n")]

    def add(self, topic: str) -> None:
        """Add a topic; its records do not count before remove()."""
        try:
            with self._path.open("a", encoding="ascii") as file:
                file.write(f"{topic}\n")
        except OSError as error:
            raise self._failure(error) from error

    def remove(self) -> None:
        """Remove the file: the seed is complete."""
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise self._failure(error) from error

    def _failure(self, error: OSError) -> KafkaStorageError:
        return KafkaStorageError(f"{self._path}: {error.strerror}")


def undo_unfinished_seed(cluster: Cluster, marker: Marker) -> None:
    """Empty the topics of an unfinished seed.

    Raises:
        KafkaStorageError: the metadata cannot be written, or the marker cannot be read or removed.
    """
    names = marker.topics()
    topics = [cluster.topics[name] for name in dict.fromkeys(names) if name in cluster.topics]
    if topics:
        _log.warning("unfinished seed undone topics=%s", ",".join(one.name for one in topics))
        cluster.delete_topics(topics)
        plans = [
            cluster.plan_topic(
                NewTopic(one.name, one.partition_count, configs=tuple(one.overrides.items()))
            )
            for one in topics
        ]
        for topic in cluster.create_topics(plans):
            cluster.make_logs(topic)
    marker.remove()
