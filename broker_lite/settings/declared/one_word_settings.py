"""The settings of a broker that is secured by one word, see sources.one_word."""

from typing import Final

from broker_lite.settings.setting import ConfigType, Setting
from broker_lite.settings.values import OneOf

ONE_WORD_SETTINGS: Final = (
    Setting(
        "broker.lite.security",
        ConfigType.STRING,
        "",
        "Secures the listeners with certificates and users that are made at the first start: ssl, "
        "mtls, sasl_plaintext or sasl_ssl.",
        OneOf(("", "ssl", "mtls", "sasl_plaintext", "sasl_ssl")),
        own=True,
    ),
    Setting(
        "broker.lite.security.users",
        ConfigType.PASSWORD,
        None,
        "More users of a broker with broker.lite.security, as NAME:PASSWORD, one per line.",
        own=True,
    ),
    Setting(
        "broker.lite.security.san",
        ConfigType.LIST,
        "",
        "More names and addresses for the certificate that broker.lite.security makes.",
        own=True,
    ),
    Setting(
        "broker.lite.security.only",
        ConfigType.BOOLEAN,
        "false",
        "Whether broker.lite.security leaves out the listener PLAINTEXT for health checks on the "
        "loopback.",
        own=True,
    ),
)
