"""The settings of a broker that is secured by one word, see sources.one_word."""

from typing import Final, Literal, TypeAlias, get_args

from broker_lite.settings.setting import ConfigType, Setting
from broker_lite.settings.values import OneOf

CertificateFault: TypeAlias = Literal[
    "expired", "not_yet_valid", "wrong_host", "self_signed", "unknown_ca"
]
"""Why clients have to refuse the certificate of a broker."""
CERTIFICATE_FAULTS: Final[tuple[CertificateFault, ...]] = get_args(CertificateFault)

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
    Setting(
        "broker.lite.security.fault",
        ConfigType.STRING,
        "",
        "Why clients have to refuse the certificate of the TLS listeners, from the start on: "
        "expired, not_yet_valid, wrong_host, self_signed or unknown_ca.",
        OneOf(("", *CERTIFICATE_FAULTS)),
        own=True,
    ),
)
