"""The broker's settings for topics and records that are created at its start."""

from typing import Final

from broker_lite.settings.setting import ConfigType, Setting

SEED_SETTINGS: Final = (
    Setting(
        "broker.lite.topics",
        ConfigType.STRING,
        "",
        "Topics to create at the start, as NAME[:PARTITIONS[:CONFIG=VALUE,...]], separated by "
        "spaces, semicolons or newlines.",
        own=True,
    ),
    Setting(
        "broker.lite.topics.file",
        ConfigType.STRING,
        "",
        "File with topics to create at the start, one per line.",
        own=True,
    ),
    Setting(
        "broker.lite.seed.file",
        ConfigType.STRING,
        "",
        "File with records, as JSON lines or CSV; at the start they are written to topics that "
        "have no records.",
        own=True,
    ),
)
