"""The broker's settings for who a client is, what it may do and for TLS.

Most are read when the broker starts. Key stores and trust stores can change while it runs.

A difference to Kafka: DescribeConfigs tells super.users and allow.everyone.if.no.acl.found with
their values, whether they are set or not. Kafka tells them only if they are set, without values.
"""

from typing import Final

from broker_lite.settings.declared.token_settings import TOKEN_SETTINGS
from broker_lite.settings.setting import ConfigType, Setting
from broker_lite.settings.values import Between, OneOf

TLS_SETTINGS: Final = (
    Setting(
        "broker.lite.kernel.tls",
        ConfigType.BOOLEAN,
        "false",
        "Whether the kernel encrypts what is sent over TLS, if it has the module tls. Untried: no "
        "kernel on which broker-lite was tested has it.",
        own=True,
    ),
    Setting(
        "ssl.allow.dn.changes",
        ConfigType.BOOLEAN,
        "false",
        "Whether a new key store may have another subject while the broker runs.",
    ),
    Setting(
        "ssl.allow.san.changes",
        ConfigType.BOOLEAN,
        "false",
        "Whether a new key store may lack alternative names while the broker runs.",
    ),
    Setting(
        "ssl.cipher.suites",
        ConfigType.LIST,
        "",
        "Cipher suites that are served, by their names in Java; none for all that are safe.",
        dynamic=True,
        per_broker=True,
    ),
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
        "Password of the private key in PEM or JKS.",
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
        "PEM, PKCS12 or JKS; a store of one of the latter two may have the form of the other.",
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
        "A word of Java for TLS. It has no effect: ssl.enabled.protocols names the versions.",
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
        "PEM, PKCS12 or JKS; a store of one of the latter two may have the form of the other.",
        dynamic=True,
        per_listener=True,
    ),
)

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

OF_STORES: Final = tuple(setting.name for setting in TLS_SETTINGS if setting.per_listener)
"""The settings of key stores and trust stores, which can change while a broker runs."""

AUTHORIZER_SETTINGS: Final = (
    Setting(
        "allow.everyone.if.no.acl.found",
        ConfigType.BOOLEAN,
        "false",
        "With an authorizer: whether everybody may use a resource that no ACL is about.",
        own=True,
    ),
    Setting(
        "super.users",
        ConfigType.STRING,
        "",
        "With an authorizer: principals who may do everything, as User:admin;User:CN=broker.",
        own=True,
    ),
)
"""Kafka's authorizer reads them; its ConfigDef does not have them."""

OF_LISTENERS: Final = frozenset(
    {
        *(setting.name for setting in TLS_SETTINGS),
        *(setting.name for setting in TOKEN_SETTINGS),
        "connections.max.reauth.ms",
        "sasl.enabled.mechanisms",
        "sasl.jaas.config",
        "sasl.server.max.receive.size",
    }
)
"""The settings of security that can be set for one listener, by listener.name.NAME."""
