"""The broker's settings for who a client is."""

from typing import Final

from broker_lite.settings.setting import ConfigType, Setting
from broker_lite.settings.values import Between

SASL_SETTINGS: Final = (
    Setting(
        "sasl.enabled.mechanisms",
        ConfigType.LIST,
        "GSSAPI",
        "Mechanisms of SASL listeners: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER; read when "
        "the broker starts. GSSAPI is not served.",
        dynamic=True,
        per_broker=True,
    ),
    Setting(
        "sasl.jaas.config",
        ConfigType.PASSWORD,
        None,
        "Login module and users of a listener and a mechanism, set as "
        "listener.name.NAME.MECHANISM.sasl.jaas.config; read when the broker starts. Without this "
        "prefix it has no effect.",
        dynamic=True,
        per_broker=True,
    ),
    Setting(
        "sasl.mechanism.controller.protocol",
        ConfigType.STRING,
        "GSSAPI",
        "Has no effect: this node sends no requests to other nodes.",
    ),
    Setting(
        "sasl.mechanism.inter.broker.protocol",
        ConfigType.STRING,
        "GSSAPI",
        "Has no effect: this node sends no requests to other nodes.",
        dynamic=True,
        per_broker=True,
    ),
    Setting(
        "sasl.server.max.receive.size",
        ConfigType.INT,
        "524288",
        "Largest frame in bytes before a client has authenticated; a larger one closes the "
        "connection.",
    ),
    Setting(
        "connections.max.reauth.ms",
        ConfigType.LONG,
        "0",
        "How long a client may stay without authenticating again; 0 for no limit.",
    ),
    Setting(
        "connection.failed.authentication.delay.ms",
        ConfigType.INT,
        "100",
        "How long a client waits for the answer that it is refused, and for the close.",
        Between(0),
    ),
    Setting(
        "broker.lite.jaas.file",
        ConfigType.STRING,
        "",
        "JAAS file with a section KafkaServer or NAME.KafkaServer, as KAFKA_OPTS names it in "
        "-Djava.security.auth.login.config=FILE.",
        own=True,
    ),
)

OF_LISTENERS: Final = frozenset(
    {
        "connections.max.reauth.ms",
        "sasl.enabled.mechanisms",
        "sasl.jaas.config",
        "sasl.server.max.receive.size",
    }
)
"""The settings of security that can be set for one listener, by listener.name.NAME."""
