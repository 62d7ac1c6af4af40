"""Where a replay goes on: offsets of the log, committed for a group in the broker it writes to.

They are committed under the names of the topics that are written. With each offset goes a text that
says which records are replayed, so that nobody goes on with others by accident.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from broker_lite.client import Client
from broker_lite.client.partition_offsets import commit, fetch_committed
from broker_lite.client.producing.transactional_producer import GroupOffsets
from broker_lite.commands.shared.record_choice import ChosenRecords
from broker_lite.errors import SettingsError
from broker_lite.pipeline.read.offset_limits import TopicPartition
from broker_lite.pipeline.read.ranges import OffsetRange

_MARK: Final = "broker-lite replay"


class Positions(NamedTuple):
    """The committed positions of a replay.

    Attributes:
        replay_id: the name of the replay, and of its group.
        metadata: the text that goes with each offset.
    """

    replay_id: str
    metadata: str

    @classmethod
    def of(cls, replay_id: str, chosen: ChosenRecords) -> "Positions":
        """Make the positions of a replay of the chosen records."""
        return cls(replay_id, f"{_MARK} {fingerprint(chosen)}")

    def read(
        self, client: Client, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Return the positions that an earlier run committed.

        Raises:
            SettingsError: they are those of something else.
            ClientError: the coordinator refused.
        """

        def ask() -> dict[TopicPartition, int]:
            connection = client.connection(client.coordinator(self.replay_id))
            found = fetch_committed(connection, self.replay_id, partitions)
            for (topic, partition), committed in found.items():
                if committed.metadata != self.metadata:
                    what = "records, by other flags or of another log"
                    if not committed.metadata.startswith(_MARK):
                        what = "things: it is the name of a group"
                    raise SettingsError(
                        f"--id {self.replay_id} is taken at {topic}-{partition} for other {what}"
                    )
            return {key: committed.offset for key, committed in found.items()}

        return client.retry(ask)

    def offsets(self, positions: Mapping[TopicPartition, int]) -> GroupOffsets:
        """Return what a transaction commits."""
        return GroupOffsets(self.replay_id, positions, self.metadata)

    def commit(self, client: Client, positions: Mapping[TopicPartition, int]) -> None:
        """Commit positions without a transaction.

        Raises:
            ClientError: the coordinator refused.
        """

        def ask() -> None:
            connection = client.connection(client.coordinator(self.replay_id))
            commit(connection, self.replay_id, positions, metadata=self.metadata)

        client.retry(ask)


def fingerprint(chosen: ChosenRecords) -> str:
    """Return a text that differs for other logs, conditions and isolation levels."""
    conditions = chosen.conditions
    parts = (
        chosen.root,
        chosen.options.isolation_level.value,
        sorted(conditions.keys) if conditions.keys is not None else None,
        conditions.headers,
        conditions.texts,
        conditions.json.expression if conditions.json is not None else None,
        conditions.from_ms,
        conditions.until_ms,
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def left_to_do(
    wanted: OffsetRange, committed: int | None, partition: TopicPartition, log_start: int
) -> OffsetRange:
    """Return what a replay has not written yet.

    Args:
        wanted: the offsets of the replay, as the log is now.
        committed: the position of an earlier run; None without one.
        partition: of the log.
        log_start: its first offset.

    Raises:
        SettingsError: records between the position and the beginning of the log are gone, or the
            position lies behind the end of the log.
    """
    if committed is None:
        return wanted
    name = f"{partition[0]}-{partition[1]}"
    if committed > wanted.end_offset:
        raise SettingsError(
            f"{name}: the replay has come to offset {committed}, and the log ends at"
            f" {wanted.end_offset}: it is not the log that was replayed"
        )
    if committed < min(log_start, wanted.first_offset):
        raise SettingsError(
            f"{name}: the replay has come to offset {committed}, and the log begins at"
            f" {log_start} now: records in between are gone; another --id leaves them out"
        )
    return OffsetRange(max(committed, wanted.first_offset), wanted.end_offset)
