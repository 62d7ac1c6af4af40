"""The settings of a broker that make the network of its clients slow, for load tests."""

from typing import Final

from broker_lite.settings.setting import ConfigType, Setting
from broker_lite.settings.values import Between, Validator

RTT_MS_MAX: Final = 60_000


def _pace(
    name: str, kind: ConfigType, default: str, doc: str, validator: Validator | None = None
) -> Setting:
    return Setting(
        f"broker.lite.pace.{name}", kind, default, doc, validator, dynamic=True, own=True
    )


PACE_SETTINGS: Final = (
    _pace(
        "rtt.ms",
        ConfigType.INT,
        "0",
        "Round trip time that is added to new connections, as by a network.",
        Between(0, RTT_MS_MAX),
    ),
    _pace(
        "in.byte.rate",
        ConfigType.LONG,
        "0",
        "Bytes per second that arrive from each client of a new connection; 0 for no limit.",
        Between(0),
    ),
    _pace(
        "out.byte.rate",
        ConfigType.LONG,
        "0",
        "Bytes per second that reach each client of a new connection; 0 for no limit.",
        Between(0),
    ),
    _pace(
        "client.ids",
        ConfigType.STRING,
        "*",
        "Client ids whose connections have this pace, with * and ?. With TLS all have it.",
    ),
)
