"""The broker's settings for TLS; all are read when the broker starts."""

from typing import Final

from broker_lite.settings.setting import ConfigType, Setting
from broker_lite.settings.values import OneOf

TLS_SETTINGS: Final = (
    Setting(
        "ssl.client.auth",
        ConfigType.STRING,
        "none",
        "Whether clients of TLS listeners need a certificate.",
        OneOf(("required", "requested", "none")),
        dynamic=True,
        per_broker=True,
    ),
    Setting(
        "ssl.enabled.protocols",
        ConfigType.LIST,
        "TLSv1.2,TLSv1.3",
        "Versions of TLS that are served.",
        dynamic=True,
        per_broker=True,
    ),
    Setting(
        "ssl.endpoint.identification.algorithm",
        ConfigType.STRING,
        "https",
        "Has no effect: this node connects to no other nodes.",
        dynamic=True,
        per_broker=True,
    ),
    Setting(
        "ssl.key.password",
        ConfigType.PASSWORD,
        None,
        "Password of the private key in PEM.",
        dynamic=True,
        per_listener=True,
    ),
    Setting(
        "ssl.keystore.certificate.chain",
        ConfigType.PASSWORD,
        None,
        "The server's certificate and its chain, as PEM.",
        dynamic=True,
        per_listener=True,
    ),
    Setting(
        "ssl.keystore.key",
        ConfigType.PASSWORD,
        None,
        "The server's private key, as PEM.",
        dynamic=True,
        per_listener=True,
    ),
    Setting(
        "ssl.keystore.location",
        ConfigType.STRING,
        None,
        "File with the server's private key and certificate.",
        dynamic=True,
        per_listener=True,
    ),
    Setting(
        "ssl.keystore.password",
        ConfigType.PASSWORD,
        None,
        "Password of the key store.",
        dynamic=True,
        per_listener=True,
    ),
    Setting(
        "ssl.keystore.type",
        ConfigType.STRING,
        "JKS",
        "PEM or PKCS12; JKS means PKCS12, too.",
        dynamic=True,
        per_listener=True,
    ),
    Setting(
        "ssl.principal.mapping.rules",
        ConfigType.STRING,
        "DEFAULT",
        "Rules that make a name of the subject of a client's certificate.",
    ),
    Setting(
        "ssl.protocol",
        ConfigType.STRING,
        "TLSv1.3",
        "Has no effect: ssl.enabled.protocols names the versions.",
        dynamic=True,
        per_broker=True,
    ),
    Setting(
        "ssl.truststore.certificates",
        ConfigType.PASSWORD,
        None,
        "Certificates of the CAs of clients, as PEM.",
        dynamic=True,
        per_listener=True,
    ),
    Setting(
        "ssl.truststore.location",
        ConfigType.STRING,
        None,
        "File with the certificates of the CAs of clients.",
        dynamic=True,
        per_listener=True,
    ),
    Setting(
        "ssl.truststore.password",
        ConfigType.PASSWORD,
        None,
        "Password of the trust store.",
        dynamic=True,
        per_listener=True,
    ),
    Setting(
        "ssl.truststore.type",
        ConfigType.STRING,
        "JKS",
        "PEM or PKCS12; JKS means PKCS12, too.",
        dynamic=True,
        per_listener=True,
    ),
)

OF_LISTENERS: Final = frozenset(setting.name for setting in TLS_SETTINGS)
"""The settings of security that can be set for one listener, by listener.name.NAME."""
