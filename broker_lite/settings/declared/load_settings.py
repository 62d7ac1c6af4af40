"""The settings of topics for load tests: records that the broker makes, or does not keep."""

from typing import Final

from broker_lite.settings.setting import ConfigType, Scope, Setting
from broker_lite.settings.values import Between, OneOf, Validator

LOAD_MODES: Final = OneOf(("stored", "synthetic", "discard"))
LOAD_COMPRESSIONS: Final = OneOf(("none", "gzip", "snappy", "lz4", "zstd"))
END_MAX: Final = 1 << 62


def _load(name: str, kind: ConfigType, default: str, doc: str, validator: Validator) -> Setting:
    return Setting(
        f"broker.lite.load.{name}",
        kind,
        default,
        doc,
        validator,
        Scope.TOPIC,
        dynamic=True,
        own=True,
    )


LOAD_SETTINGS: Final = (
    _load(
        "mode",
        ConfigType.STRING,
        "stored",
        "Where the records come from: stored ones were produced, synthetic ones are made by the "
        "broker, for ever, and nothing can be produced then. With discard, what is produced is "
        "checked and acknowledged, but not kept. Kafka's internal topics are always stored.",
        LOAD_MODES,
    ),
    _load(
        "record.bytes",
        ConfigType.INT,
        "1000",
        "Size of the value of a synthetic record.",
        Between(0, 1_000_000),
    ),
    _load(
        "batch.records",
        ConfigType.INT,
        "1000",
        "Number of synthetic records in a batch.",
        Between(1, 65_536),
    ),
    _load(
        "keys",
        ConfigType.INT,
        "0",
        "Number of different keys, of 16 bytes, that synthetic records have in turn; 0 for none.",
        Between(0, 1_000_000),
    ),
    _load(
        "compression",
        ConfigType.STRING,
        "none",
        "Codec of synthetic batches.",
        LOAD_COMPRESSIONS,
    ),
    _load(
        "random",
        ConfigType.DOUBLE,
        "0.2",
        "Share of a synthetic value that is random bytes, which no codec makes smaller; the rest "
        "are words.",
        Between(0, 1),
    ),
    _load(
        "end",
        ConfigType.LONG,
        str(END_MAX),
        "Log end offset of each partition while the mode is synthetic.",
        Between(0, END_MAX),
    ),
)
