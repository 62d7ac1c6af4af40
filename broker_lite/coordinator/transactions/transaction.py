"""A transactional id: its producer, its state, and every possible change of both.

A transaction is immutable: each change returns a new object with the content of the next record in
the state log. The table `PREVIOUS_STATES` is the whole state machine; a change that is not in it is
a bug.

With transaction version 2 (KIP-890), each commit and abort raises the epoch of the client, so that
a late record of an old transaction cannot become part of the next one. If there is no higher epoch,
the producer continues with a new producer id and epoch 0. The client gets the new id in the
response to its EndTxn, but the id becomes valid only when the markers with the old id are written:
until then the transaction has both ids.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final, Self, TypeAlias, TypedDict, Unpack

from broker_lite.record.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

TopicPartition: TypeAlias = tuple[str, int]

NO_TIME: Final = -1
NO_TIMEOUT_MS: Final = 2**31 - 1
"""The timeout of a transaction that has none, because another system decides how it ends (T-69)."""
EPOCH_MAX: Final = 32767
# the highest epoch that a client gets: the next one is reserved to fence it
CLIENT_EPOCH_MAX: Final = EPOCH_MAX - 1
EPOCH_BUMP_VERSION: Final = 2
"""The transaction version from which every end of a transaction raises the epoch."""


class TransactionState(IntEnum):
    """States by their number in the state log.

    Rule: T-01 to T-06 (TransactionState).
    """

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def text(self) -> str:
        """The name of the state in responses."""
        return self.name.title().replace("_", "")


EMPTY: Final = TransactionState.EMPTY
ONGOING: Final = TransactionState.ONGOING
PREPARE_COMMIT: Final = TransactionState.PREPARE_COMMIT
PREPARE_ABORT: Final = TransactionState.PREPARE_ABORT
COMPLETE_COMMIT: Final = TransactionState.COMPLETE_COMMIT
COMPLETE_ABORT: Final = TransactionState.COMPLETE_ABORT

PREPARED: Final = frozenset({PREPARE_COMMIT, PREPARE_ABORT})
IDLE: Final = frozenset({EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT})

# Two of Kafka's states, DEAD and PREPARE_EPOCH_FENCE, are not used: Kafka has them for steps
# within an event, which no client can see here.
PREVIOUS_STATES: Final[Mapping[TransactionState, frozenset[TransactionState]]] = {
    EMPTY: IDLE,
    ONGOING: IDLE | {ONGOING},
    PREPARE_COMMIT: frozenset({ONGOING}),
    PREPARE_ABORT: IDLE | {ONGOING},
    COMPLETE_COMMIT: frozenset({PREPARE_COMMIT}),
    COMPLETE_ABORT: frozenset({PREPARE_ABORT}),
}


class _Changes(TypedDict, total=False):
    """The fields of a transaction that a change may set, besides its state and the time."""

    producer_id: int
    producer_epoch: int
    last_producer_epoch: int
    next_producer_id: int
    timeout_ms: int
    partitions: frozenset[TopicPartition]
    started_ms: int
    client_version: int


def is_exhausted(producer_epoch: int) -> bool:
    """Return whether a client cannot get a higher epoch than this one."""
    return producer_epoch >= CLIENT_EPOCH_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """The state of a transactional id after one change.

    Attributes:
        previous_producer_id: the producer id before the last change; usually the same one.
        next_producer_id: the client has it already; it becomes valid when the markers are written.
        last_producer_epoch: the epoch before; a client that repeats its request with this epoch
            gets the same answer again.
        started_ms: when the first partition was added, NO_TIME before.
        client_version: the transaction version of the request that made the last change.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int = NO_PRODUCER_EPOCH
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    timeout_ms: int
    state: TransactionState = EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    started_ms: int = NO_TIME
    updated_ms: int
    client_version: int = 0

    @property
    def is_exhausted(self) -> bool:
        """Whether the client has to get a new producer id, because there is no higher epoch."""
        return is_exhausted(self.producer_epoch)

    def incremented(self, *, timeout_ms: int, last_epoch: int, now_ms: int) -> Self:
        """Return the transaction with the same producer id and the next epoch.

        Args:
            timeout_ms: of the producer's transactions.
            last_epoch: the epoch that the producer has now, NO_PRODUCER_EPOCH for a new producer.
            now_ms: the current time.

        Rule: T-23, T-24, T-25 (TransactionMetadata.prepareIncrementProducerEpoch).
        """
        return self._emptied(
            now_ms,
            timeout_ms=timeout_ms,
            producer_epoch=self.producer_epoch + 1,
            last_producer_epoch=last_epoch,
        )

    def repeated(self, *, timeout_ms: int, now_ms: int) -> Self:
        """Return the transaction with the same producer id and epoch, for a repeated request.

        Rule: T-24, T-25.
        """
        return self._emptied(now_ms, timeout_ms=timeout_ms)

    def rotated(self, producer_id: int, *, timeout_ms: int, last_epoch: int, now_ms: int) -> Self:
        """Return the transaction with a new producer id and epoch 0.

        Rule: T-22, T-25 (TransactionMetadata.prepareProducerIdRotation).
        """
        return self._emptied(
            now_ms,
            timeout_ms=timeout_ms,
            producer_id=producer_id,
            producer_epoch=0,
            last_producer_epoch=last_epoch,
        )

    def added(
        self, partitions: Collection[TopicPartition], *, client_version: int, now_ms: int
    ) -> Self:
        """Return the transaction with more partitions; the first ones start it.

        Rule: T-63 (TransactionMetadata.prepareAddPartitions).
        See: T-29.
        """
        return self._moved(
            ONGOING,
            now_ms,
            partitions=self.partitions.union(partitions),
            started_ms=self.started_ms if self.state is ONGOING else now_ms,
            client_version=client_version,
        )

    def ending(
        self, *, is_commit: bool, client_version: int, next_producer_id: int, now_ms: int
    ) -> Self:
        """Return the prepared transaction: it will commit or abort when its markers are written.

        Rule: T-49 (TransactionMetadata.prepareAbortOrCommit).
        See: T-47, T-48.
        """
        changes: _Changes = {
            "started_ms": self.started_ms if self.state is ONGOING else now_ms,
            "next_producer_id": next_producer_id,
            "client_version": client_version,
        }
        if client_version >= EPOCH_BUMP_VERSION:
            # EPOCH_MAX may already be in use, if it fenced a producer with an exhausted epoch
            changes["producer_epoch"] = min(self.producer_epoch + 1, EPOCH_MAX)
            changes["last_producer_epoch"] = self.producer_epoch
        return self._moved(PREPARE_COMMIT if is_commit else PREPARE_ABORT, now_ms, **changes)

    def fenced(self, *, server_version: int, next_producer_id: int, now_ms: int) -> Self:
        """Return the transaction, to be aborted by the coordinator with an epoch no client gets.

        Args:
            server_version: the feature's level.
            next_producer_id: the id after the abort, NO_PRODUCER_ID to keep the current one.
            now_ms: the current time.

        See: T-21, T-60 (TransactionMetadata.prepareFenceProducerEpoch).
        """
        target = self
        if server_version < EPOCH_BUMP_VERSION:
            target = replace(
                self,
                producer_epoch=min(self.producer_epoch + 1, EPOCH_MAX),
                last_producer_epoch=NO_PRODUCER_EPOCH,
            )
        return target.ending(
            is_commit=False,
            client_version=server_version,
            next_producer_id=next_producer_id,
            now_ms=now_ms,
        )

    def completed(self, *, now_ms: int) -> Self:
        """Return the completed transaction; a next producer id becomes the producer id.

        Rule: T-05, T-49 (TransactionMetadata.prepareComplete).
        """
        changes: _Changes = {"next_producer_id": NO_PRODUCER_ID, "partitions": frozenset()}
        if self.next_producer_id != NO_PRODUCER_ID:
            changes["producer_id"] = self.next_producer_id
            changes["producer_epoch"] = 0
        state = COMPLETE_COMMIT if self.state is PREPARE_COMMIT else COMPLETE_ABORT
        return self._moved(state, now_ms, **changes)

    def _emptied(self, now_ms: int, **changes: Unpack[_Changes]) -> Self:
        emptied: _Changes = {**changes, "partitions": frozenset(), "started_ms": NO_TIME}
        return self._moved(EMPTY, now_ms, **emptied)

    def _moved(self, state: TransactionState, now_ms: int, **changes: Unpack[_Changes]) -> Self:
        assert self.state in PREVIOUS_STATES[state], f"{self.state.text} -> {state.text}"
        return replace(
            self,
            state=state,
            updated_ms=now_ms,
            previous_producer_id=self.producer_id,
            **changes,
        )
