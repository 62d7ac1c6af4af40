"""Reads the producer properties of Kafka that have a meaning here.

Other properties of Kafka's producer are ignored, because they tune what this client lacks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from broker_lite.client.property_values import boolean, integer, one_of
from broker_lite.errors import SettingsError
from broker_lite.record.codecs.compression import LEVELS, Codec

ALL_IN_SYNC: Final = -1
NO_ANSWER: Final = 0
_ACKS: Final = {"all": ALL_IN_SYNC, "-1": ALL_IN_SYNC, "0": NO_ANSWER, "1": 1}
_INT32_MAX: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConfig:
    """The configuration of a producer.

    Attributes:
        acks: -1 waits for all replicas, 1 for the leader, 0 for nothing.
        linger_s: how long an incomplete batch may wait for more records.
        level: of compression; None for the codec's default.
        retries: how often a batch may be refused with a retriable error.
        max_block_s: how long to wait for the topic.
    """

    client_id: str = "console-producer"
    acks: int = ALL_IN_SYNC
    idempotent: bool = True
    codec: Codec = Codec.NONE
    level: int | None = None
    batch_bytes: int = 16_384
    max_request_bytes: int = 1_048_576
    linger_s: float = 0.005
    retries: int = _INT32_MAX
    retry_backoff_s: float = 0.1
    request_timeout_s: float = 30.0
    delivery_timeout_s: float = 120.0
    max_block_s: float = 60.0

    @classmethod
    def read(cls, properties: Mapping[str, str]) -> Self:
        """Parse properties such as `batch.size`.

        Raises:
            SettingsError: a value is wrong, or two contradict each other.
        """
        acks = _ACKS[one_of(properties, "acks", _ACKS, "all")]
        idempotent = boolean(properties, "enable.idempotence", default=acks == ALL_IN_SYNC)
        if idempotent and acks != ALL_IN_SYNC:
            raise SettingsError("acks: an idempotent producer needs all")
        names = [codec.name.lower() for codec in Codec]
        codec = Codec[one_of(properties, "compression.type", names, "none").upper()]
        return cls(
            client_id=properties.get("client.id", "console-producer"),
            acks=acks,
            idempotent=idempotent,
            codec=codec,
            level=_level(properties, codec),
            batch_bytes=integer(properties, "batch.size", 16_384),
            max_request_bytes=integer(properties, "max.request.size", 1_048_576),
            linger_s=integer(properties, "linger.ms", 5) / 1000,
            retries=integer(properties, "retries", _INT32_MAX),
            retry_backoff_s=integer(properties, "retry.backoff.ms", 100) / 1000,
            request_timeout_s=integer(properties, "request.timeout.ms", 30_000) / 1000,
            delivery_timeout_s=integer(properties, "delivery.timeout.ms", 120_000) / 1000,
            max_block_s=integer(properties, "max.block.ms", 60_000) / 1000,
        )


def _level(properties: Mapping[str, str], codec: Codec) -> int | None:
    name = f"compression.{codec.name.lower()}.level"
    levels = LEVELS.get(codec)
    if levels is None or name not in properties:
        return None
    level = integer(properties, name, levels.default, minimum=levels.min)
    if level > levels.max or (codec is Codec.GZIP and level == 0):
        raise SettingsError(f"{name}: {level} is not a level of {codec.name.lower()}")
    return level
