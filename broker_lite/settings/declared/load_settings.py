"""The settings of topics for load tests: records that are made or not kept, and a slow network."""

from typing import Final

from broker_lite.settings.declared.pace_settings import RTT_MS_MAX
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
    _load(
        "rtt.ms",
        ConfigType.INT,
        "0",
        "Round trip time that is added to each Produce and Fetch of records of the topic, as by a "
        "network.",
        Between(0, RTT_MS_MAX),
    ),
    _load(
        "in.byte.rate",
        ConfigType.LONG,
        "0",
        "Bytes of records per second that all producers of the topic together bring to a "
        "process, as over a slow network; 0 for no limit.",
        Between(0),
    ),
    _load(
        "out.byte.rate",
        ConfigType.LONG,
        "0",
        "Bytes of records per second that all consumers of the topic together get from a "
        "process, as over a slow network; 0 for no limit.",
        Between(0),
    ),
)
