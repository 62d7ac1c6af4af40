"""The broker's settings of what is there at its start: topics and records."""

from typing import Final

from broker_lite.settings.setting import ConfigType, Setting

SEED_SETTINGS: Final = (
    Setting(
        "broker.lite.topics",
        ConfigType.STRING,
        "",
        "Topics to create at the start, as NAME[:PARTITIONS[:CONFIG=VALUE,...]], separated by "
        "blanks, semicolons or newlines.",
        own=True,
    ),
    Setting(
        "broker.lite.topics.file",
        ConfigType.STRING,
        "",
        "File with topics to create at the start, one a line.",
        own=True,
    ),
    Setting(
        "broker.lite.seed.file",
        ConfigType.STRING,
        "",
        "File with records to write at the start into topics without records: JSON lines or CSV.",
        own=True,
    ),
)
