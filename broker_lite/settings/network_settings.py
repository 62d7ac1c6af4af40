"""The broker's settings of identity, listeners, sockets and requests."""

from typing import Final

from broker_lite.settings.setting import ConfigType, Setting
from broker_lite.settings.values import Between, OneOf, Umask, Word

RELEASES: Final = (
    *("0.9", "0.10.0", "0.10.2", "0.11", "1.0", "1.1", "2.0", "2.1", "2.3", "2.4", "2.6", "2.8"),
    *("3.0", "3.5", "3.7", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4"),
)
"""The releases of Kafka that can be stood in for."""
DEFAULT_RELEASE: Final = "4.3"
"""That of the Kafka with which broker-lite is compared."""

DESCRIBED: Final = "topic"
"""The value of broker.lite.auto.create.answer that has a new topic described at once."""

NETWORK_SETTINGS: Final = (
    Setting("node.id", ConfigType.INT, "1", "Number of this node in the cluster.", Between(0)),
    Setting("broker.id", ConfigType.INT, "-1", "Older name of node.id; either gives the other."),
    Setting(
        "process.roles",
        ConfigType.LIST,
        "broker,controller",
        "Accepted for Kafka's sake; this node always has both roles.",
        OneOf(("broker", "controller")),
    ),
    Setting("broker.rack", ConfigType.STRING, None, "Rack of this node, as Metadata tells it."),
    Setting(
        "listeners",
        ConfigType.LIST,
        "PLAINTEXT://127.0.0.1:9092",
        "Addresses to listen on, as NAME://HOST:PORT,...; port 0 takes a free one.",
        kafka_default="PLAINTEXT://:9092",
    ),
    Setting(
        "advertised.listeners",
        ConfigType.LIST,
        None,
        "Addresses told to clients, by listener name; without one, that at which the client came.",
    ),
    Setting(
        "listener.security.protocol.map",
        ConfigType.STRING,
        "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "Security protocol of each listener name; PLAINTEXT is what broker-lite speaks.",
        kafka_default="SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
    ),
    Setting(
        "controller.listener.names",
        ConfigType.LIST,
        "CONTROLLER",
        "Accepted for Kafka's sake; listeners of a controller are not opened.",
    ),
    Setting(
        "inter.broker.listener.name",
        ConfigType.STRING,
        None,
        "Accepted for Kafka's sake; no request goes to another node.",
    ),
    Setting(
        "security.inter.broker.protocol",
        ConfigType.STRING,
        "PLAINTEXT",
        "Accepted for Kafka's sake; no request goes to another node.",
        OneOf(("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")),
    ),
    Setting(
        "socket.request.max.bytes",
        ConfigType.INT,
        "104857600",
        "Largest request; a larger one closes the connection.",
        Between(1),
    ),
    Setting(
        "socket.send.buffer.bytes",
        ConfigType.INT,
        "-1",
        "SO_SNDBUF of connections; -1 for the system's, which grows with large fetches.",
        kafka_default="102400",
    ),
    Setting(
        "socket.receive.buffer.bytes",
        ConfigType.INT,
        "-1",
        "SO_RCVBUF of connections, -1 for the system's.",
        kafka_default="102400",
    ),
    Setting(
        "socket.listen.backlog.size",
        ConfigType.INT,
        "1024",
        "Connections that wait to be accepted.",
        Between(1),
        kafka_default="50",
    ),
    Setting(
        "max.connections",
        ConfigType.INT,
        "2147483647",
        "Connections at one time; above, a new one is closed right after it is accepted.",
        Between(0),
        dynamic=True,
    ),
    Setting(
        "max.connections.per.ip",
        ConfigType.INT,
        "2147483647",
        "Connections of one client address at one time.",
        Between(0),
        dynamic=True,
    ),
    Setting(
        "max.connections.per.ip.overrides",
        ConfigType.STRING,
        "",
        "Other bounds for some addresses, as ADDRESS:COUNT,...",
        dynamic=True,
    ),
    Setting(
        "max.connection.creation.rate",
        ConfigType.INT,
        "2147483647",
        "New connections per second.",
        Between(0),
        dynamic=True,
    ),
    Setting(
        "connections.max.idle.ms",
        ConfigType.LONG,
        "600000",
        "After how much idle time a connection is closed; below 1 never.",
    ),
    Setting(
        "queued.max.request.bytes",
        ConfigType.LONG,
        "-1",
        "Memory of all requests; above it no request is received. -1 is no limit; a broker that is "
        "started without one takes what fits the memory of its container or machine.",
    ),
    Setting(
        "queued.max.requests",
        ConfigType.INT,
        "500",
        "Accepted for Kafka's sake; a connection here has one request at a time.",
        Between(1),
    ),
    Setting(
        "request.timeout.ms",
        ConfigType.INT,
        "30000",
        "Accepted for Kafka's sake; no request goes to another node.",
    ),
    Setting(
        "fetch.max.bytes",
        ConfigType.INT,
        "57671680",
        "Largest response to one fetch.",
        Between(1024),
    ),
    Setting(
        "max.incremental.fetch.session.cache.slots",
        ConfigType.INT,
        "1000",
        "Fetch sessions that are kept.",
        Between(0),
    ),
    Setting(
        "max.request.partition.size.limit",
        ConfigType.INT,
        "2000",
        "Partitions that one DescribeTopicPartitions answer tells.",
        Between(1),
    ),
    Setting(
        "emulate",
        ConfigType.STRING,
        DEFAULT_RELEASE,
        "Kafka release whose API versions are offered, e.g. 2.8; a new data directory begins with "
        "its features.",
        OneOf(RELEASES),
        own=True,
    ),
    Setting(
        "broker.lite.auto.create.answer",
        ConfigType.STRING,
        DESCRIBED,
        "What the Metadata request that creates a topic is told: the topic, or (as in Kafka) an "
        "error until it asks again.",
        OneOf((DESCRIBED, "UNKNOWN_TOPIC_OR_PARTITION", "LEADER_NOT_AVAILABLE")),
        own=True,
    ),
    Setting(
        "broker.lite.cluster.id",
        ConfigType.STRING,
        None,
        "Id of the cluster; a data directory must be of it. Without one: the directory's, or new.",
        Word(),
        own=True,
    ),
    Setting(
        "broker.lite.features",
        ConfigType.LIST,
        "",
        "Levels of features to put in force at the start, e.g. transaction.version=1.",
        own=True,
    ),
    Setting(
        "broker.lite.gateway.advertised",
        ConfigType.STRING,
        "",
        "Told to clients that come through the default gateway, HOST or HOST:PORT; empty for none.",
        own=True,
    ),
    Setting(
        "broker.lite.open.files.max",
        ConfigType.INT,
        "0",
        "Segment files that are open at one time; 0 for a quarter of what the process may open.",
        Between(0),
        own=True,
    ),
    Setting(
        "broker.lite.umask",
        ConfigType.STRING,
        "077",
        "What others may not do with new files and directories: 077 is all, 022 lets them read.",
        Umask(),
        own=True,
    ),
    Setting(
        "broker.lite.control.request.max.bytes",
        ConfigType.INT,
        "2097152",
        "Largest request of any API but Produce; a larger one closes the connection.",
        Between(1),
        own=True,
    ),
    Setting(
        "broker.lite.batch.records.max",
        ConfigType.INT,
        "2097152",
        "Most records of one batch; one with more is refused, and its producer may split it.",
        Between(1),
        own=True,
    ),
    Setting(
        "broker.lite.decompressed.max.bytes",
        ConfigType.INT,
        "134217728",
        "Largest size of one batch after decompression; a larger one is refused.",
        Between(1),
        own=True,
    ),
    Setting(
        "broker.lite.decompression.threads",
        ConfigType.INT,
        "4",
        "Large batches that are decompressed at one time.",
        Between(1, 64),
        own=True,
    ),
    Setting(
        "broker.lite.unsent.max.bytes",
        ConfigType.LONG,
        "268435456",
        "Memory of answers that clients do not take; above it, who began first is closed.",
        Between(1),
        own=True,
    ),
    Setting(
        "broker.lite.log.level",
        ConfigType.STRING,
        "info",
        "Lowest level of the broker's own log messages.",
        OneOf(("debug", "info", "warning", "error")),
        own=True,
    ),
    Setting(
        "broker.lite.log.format",
        ConfigType.STRING,
        "text",
        "Form of the broker's own log messages.",
        OneOf(("text", "json")),
        own=True,
    ),
)
