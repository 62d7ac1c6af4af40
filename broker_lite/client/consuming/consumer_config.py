"""Reads the consumer properties of Kafka that have a meaning here.

Other properties of Kafka's consumer are ignored, because they tune what this client lacks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from broker_lite.client.consuming.fetcher import RESETS
from broker_lite.client.property_values import boolean, integer, one_of

CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"
_ISOLATION_LEVELS: Final = ("read_uncommitted", "read_committed")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerConfig:
    """The configuration of a consumer.

    Attributes:
        reset: where to begin without a position; see Fetcher.
        create_topics: whether to create missing topics, if the broker allows that.
        group: None for no group.
        group_protocol: CLASSIC or CONSUMER; None for the newest that the broker supports.
        commit_interval_s: None for no commits.
    """

    client_id: str
    reset: int | None
    read_committed: bool
    create_topics: bool
    group: str | None
    group_protocol: str | None
    instance_id: str | None
    session_timeout_ms: int
    commit_interval_s: float | None

    @classmethod
    def read(cls, properties: Mapping[str, str]) -> Self:
        """Parse properties such as `auto.offset.reset`.

        Raises:
            SettingsError: a value is wrong.
        """
        protocol = None
        if "group.protocol" in properties:
            protocol = one_of(properties, "group.protocol", (CLASSIC, CONSUMER), CLASSIC)
        interval_ms = integer(properties, "auto.commit.interval.ms", 5000)
        commits = boolean(properties, "enable.auto.commit", default=True)
        return cls(
            client_id=properties.get("client.id", "console-consumer"),
            reset=RESETS[one_of(properties, "auto.offset.reset", RESETS, "latest")],
            read_committed=one_of(
                properties, "isolation.level", _ISOLATION_LEVELS, _ISOLATION_LEVELS[0]
            )
            == _ISOLATION_LEVELS[1],
            create_topics=boolean(properties, "allow.auto.create.topics", default=True),
            group=properties.get("group.id"),
            group_protocol=protocol,
            instance_id=properties.get("group.instance.id"),
            session_timeout_ms=integer(properties, "session.timeout.ms", 45_000, minimum=1),
            commit_interval_s=interval_ms / 1000 if commits else None,
        )
