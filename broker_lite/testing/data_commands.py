"""What a test does to the topics and records of a broker or a cluster."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from broker_lite.testing.processes.plan import setting_text

if TYPE_CHECKING:
    from broker_lite.testing.batches import Headers
    from broker_lite.testing.records import Record


class DataCommands:
    """Topics and records, written and read by a client of its own for each call.

    Attributes:
        client_properties: how this client logs in, as a Java client's properties say it.
    """

    client_properties: Mapping[str, str]

    @property
    def bootstrap(self) -> str:
        """HOST:PORT for clients."""
        raise NotImplementedError

    def _plain_bootstrap(self, bootstrap: str) -> str:
        """Return where a client that neither speaks TLS nor logs in reaches the broker."""
        raise NotImplementedError

    def _own_bootstrap(self) -> str:
        """Return where the client of these calls reaches the broker."""
        return self.bootstrap if self.client_properties else self._plain_bootstrap(self.bootstrap)

    def _asked(self) -> AbstractContextManager[None]:
        """Report that the broker died, rather than that it does not respond."""
        raise NotImplementedError

    def create_topic(
        self, name: str, partitions: int = 1, configs: Mapping[str, object] | None = None
    ) -> None:
        """Create a topic.

        Args:
            name: of the topic.
            partitions: number of partitions.
            configs: by Kafka's names, converted like `settings`.

        Raises:
            ClientError: the broker says no.
            BrokerDied: it ended by itself.
        """
        from broker_lite.testing import records

        texts = {key: setting_text(value) for key, value in (configs or {}).items()}
        with self._asked():
            records.create_topic(
                self._own_bootstrap(),
                name,
                partitions=partitions,
                configs=texts,
                properties=self.client_properties,
            )

    def produce(
        self,
        topic: str,
        *values: bytes | str | None,
        key: bytes | str | None = None,
        headers: "Headers" = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> None:
        """Write one record for each value, in one batch; a missing topic is created.

        Args:
            topic: of all records.
            values: text becomes UTF-8.
            key: of all records.
            headers: of all records.
            partition: None means the one that Kafka's producer chooses for the key, 0 without a
                key.
            timestamp_ms: of all records, since the epoch; None means now.

        Raises:
            ClientError: the broker says no.
            BrokerDied: it ended by itself.
        """
        from broker_lite.testing import records

        with self._asked():
            records.produce(
                self._own_bootstrap(),
                topic,
                values,
                key=key,
                headers=headers,
                partition=partition,
                timestamp_ms=timestamp_ms,
                properties=self.client_properties,
            )

    def records(self, topic: str, *, read_committed: bool = False) -> "list[Record]":
        """Read all present records of a topic, partition by partition, in order of offsets.

        The default is that of Kafka's consumer, isolation.level=read_uncommitted, which includes
        records of open and aborted transactions. With read_committed=True, the result has only
        records outside of transactions and in committed ones, up to the first open transaction.
        Commit and abort markers have offsets, but are never returned.

        Args:
            topic: of the records.
            read_committed: as a consumer with isolation.level=read_committed.

        Raises:
            ClientError: the topic does not exist, or the broker refused.
            BrokerDied: it ended by itself.
        """
        from broker_lite.testing import records

        with self._asked():
            return records.read_all(
                self._own_bootstrap(),
                topic,
                read_committed=read_committed,
                properties=self.client_properties,
            )
