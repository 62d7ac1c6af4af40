"""The broker's settings for quotas; all are read when the first client has a quota."""

from typing import Final

from broker_lite.settings.setting import ConfigType, Setting
from broker_lite.settings.values import Between

QUOTA_SETTINGS: Final = (
    Setting(
        "quota.window.num",
        ConfigType.INT,
        "11",
        "Number of windows that the rates of clients and connections are taken over; the last one "
        "is not over yet.",
        Between(1),
    ),
    Setting(
        "quota.window.size.seconds",
        ConfigType.INT,
        "1",
        "Length of such a window.",
        Between(1),
    ),
    Setting(
        "controller.quota.window.num",
        ConfigType.INT,
        "11",
        "Number of windows whose quota a client may use at once for changes of topics.",
        Between(1),
    ),
    Setting(
        "controller.quota.window.size.seconds",
        ConfigType.INT,
        "1",
        "Length of such a window.",
        Between(1),
    ),
)
