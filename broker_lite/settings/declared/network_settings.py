"""The broker's settings for identity, listeners, sockets and requests."""

from typing import Final

from broker_lite.settings.setting import ConfigType, Setting
from broker_lite.settings.values import Between, EachOneOf, OneOf, ProcessCount, Umask, Word

RELEASES: Final = (
    *("0.9", "0.10.0", "0.10.2", "0.11", "1.0", "1.1", "2.0", "2.1", "2.3", "2.4", "2.6", "2.8"),
    *("3.0", "3.5", "3.7", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4"),
)
"""The releases of Kafka that a broker can emulate."""
DEFAULT_RELEASE: Final = "4.3"
"""The release of the Kafka that the tests compare broker-lite with."""

DESCRIBED: Final = "topic"
"""The value of broker.lite.auto.create.answer with which a new topic is described at once."""

NETWORK_SETTINGS: Final = (
    Setting("node.id", ConfigType.INT, "1", "Id of this node in the cluster.", Between(0)),
    Setting(
        "broker.id", ConfigType.INT, "-1", "Older name of node.id; setting one of them sets both."
    ),
    Setting(
        "process.roles",
        ConfigType.LIST,
        "broker,controller",
        "Has no effect: this node always has both roles.",
        OneOf(("broker", "controller")),
    ),
    Setting(
        "broker.rack",
        ConfigType.STRING,
        None,
        "Rack of this node, or of all nodes of the process; see broker.lite.racks.",
    ),
    Setting(
        "broker.lite.brokers",
        ConfigType.INT,
        "1",
        "Brokers in this process: their ids are node.id and the next numbers, their ports those of "
        "listeners and the next numbers.",
        Between(1, 1000),
        own=True,
    ),
    Setting(
        "broker.lite.processes",
        ConfigType.STRING,
        "1",
        "Processes that share the work, each with one broker of the cluster and a port of its own; "
        "auto means one for each CPU that this process may use.",
        ProcessCount(),
        own=True,
    ),
    Setting(
        "broker.lite.ports",
        ConfigType.STRING,
        "",
        "Port of each broker's first listener; without any they are side by side.",
        own=True,
    ),
    Setting(
        "broker.lite.racks",
        ConfigType.STRING,
        "",
        "Racks of the brokers in turns, such as a,b,c; an empty one, as in a,,c, is none. If there "
        "are none at all, all have broker.rack.",
        own=True,
    ),
    Setting(
        "broker.lite.control",
        ConfigType.STRING,
        "",
        "HOST:PORT of the control API (HTTP); empty for none. A port alone is one of 127.0.0.1; "
        "port 0 means any free port.",
        own=True,
    ),
    Setting(
        "broker.lite.script",
        ConfigType.STRING,
        "",
        "File of a script of faults and steps (JSON, YAML) or of a run that is to be repeated; it "
        "begins when clients are accepted.",
        own=True,
    ),
    Setting(
        "listeners",
        ConfigType.LIST,
        "PLAINTEXT://127.0.0.1:9092",
        "Addresses to listen on, as NAME://HOST:PORT,...; port 0 means any free port.",
        kafka_default="PLAINTEXT://:9092",
    ),
    Setting(
        "advertised.listeners",
        ConfigType.LIST,
        None,
        "Addresses that clients are told to use, as NAME://HOST:PORT,...; a listener without one "
        "tells each client the address that it connected to.",
    ),
    Setting(
        "listener.security.protocol.map",
        ConfigType.STRING,
        "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,"
        "SASL_SSL:SASL_SSL",
        "Security protocol of each listener name: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.",
        kafka_default="SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
    ),
    Setting(
        "controller.listener.names",
        ConfigType.LIST,
        "CONTROLLER",
        "Names of listeners for controllers; such listeners are accepted, but not opened.",
    ),
    Setting(
        "inter.broker.listener.name",
        ConfigType.STRING,
        None,
        "Has no effect: this node sends no requests to other nodes.",
    ),
    Setting(
        "security.inter.broker.protocol",
        ConfigType.STRING,
        "PLAINTEXT",
        "Has no effect: this node sends no requests to other nodes.",
        OneOf(("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")),
    ),
    Setting(
        "authorizer.class.name",
        ConfigType.STRING,
        "",
        "What decides about rights: org.apache.kafka.metadata.authorizer.StandardAuthorizer goes "
        "by ACLs. If it is empty, everybody may do everything.",
    ),
    Setting(
        "socket.request.max.bytes",
        ConfigType.INT,
        "104857600",
        "Largest request in bytes; a larger one closes the connection.",
        Between(1),
    ),
    Setting(
        "socket.send.buffer.bytes",
        ConfigType.INT,
        "-1",
        "SO_SNDBUF of connections; -1 keeps the system's default, which grows with large fetches.",
        kafka_default="102400",
    ),
    Setting(
        "socket.receive.buffer.bytes",
        ConfigType.INT,
        "-1",
        "SO_RCVBUF of connections; -1 keeps the system's default.",
        kafka_default="102400",
    ),
    Setting(
        "socket.listen.backlog.size",
        ConfigType.INT,
        "1024",
        "Largest number of connections that wait to be accepted.",
        Between(1),
        kafka_default="50",
    ),
    Setting(
        "max.connections",
        ConfigType.INT,
        "2147483647",
        "Largest number of connections; a connection above it is closed right after it is "
        "accepted.",
        Between(0),
        dynamic=True,
    ),
    Setting(
        "max.connections.per.ip",
        ConfigType.INT,
        "2147483647",
        "Largest number of connections from one client address.",
        Between(0),
        dynamic=True,
    ),
    Setting(
        "max.connections.per.ip.overrides",
        ConfigType.STRING,
        "",
        "Limits that replace max.connections.per.ip for single addresses, as ADDRESS:COUNT,...",
        dynamic=True,
    ),
    Setting(
        "max.connection.creation.rate",
        ConfigType.INT,
        "2147483647",
        "Largest number of new connections per second, also for one listener; the next ones wait.",
        Between(0),
        dynamic=True,
    ),
    Setting(
        "connections.max.idle.ms",
        ConfigType.LONG,
        "600000",
        "Idle time after which a connection is closed; 0 or less means never.",
    ),
    Setting(
        "queued.max.request.bytes",
        ConfigType.LONG,
        "-1",
        "Memory for all requests together; while it is full, no more requests are read. -1 means "
        "no limit. If this is not set, a broker takes a limit that fits the memory of its "
        "container or machine.",
    ),
    Setting(
        "queued.max.requests",
        ConfigType.INT,
        "500",
        "Has no effect: the broker works on one request of a connection at a time.",
        Between(1),
    ),
    Setting(
        "request.timeout.ms",
        ConfigType.INT,
        "30000",
        "Has no effect: this node sends no requests to other nodes.",
    ),
    Setting(
        "fetch.max.bytes",
        ConfigType.INT,
        "57671680",
        "Largest answer to one Fetch or ShareFetch request, in bytes.",
        Between(1024),
    ),
    Setting(
        "max.incremental.fetch.session.cache.slots",
        ConfigType.INT,
        "1000",
        "Largest number of fetch sessions.",
        Between(0),
    ),
    Setting(
        "max.request.partition.size.limit",
        ConfigType.INT,
        "2000",
        "Largest number of partitions in one DescribeTopicPartitions answer.",
        Between(1),
    ),
    Setting(
        "emulate",
        ConfigType.STRING,
        DEFAULT_RELEASE,
        "Kafka release to act as, e.g. 2.8: its API versions are offered, and a new data "
        "directory gets its feature levels. With several brokers one for all, or one for each of "
        "them, e.g. 3.9,4.3,4.3.",
        EachOneOf(RELEASES),
        own=True,
    ),
    Setting(
        "unstable.api.versions.enable",
        ConfigType.BOOLEAN,
        "false",
        "Whether versions of APIs are offered, too, that no release of Kafka has finished.",
        internal=True,
    ),
    Setting(
        "broker.lite.auto.create.answer",
        ConfigType.STRING,
        DESCRIBED,
        "Answer to the Metadata request that creates a topic: topic describes it at once; an "
        "error, as in Kafka, makes the client ask again.",
        OneOf((DESCRIBED, "UNKNOWN_TOPIC_OR_PARTITION", "LEADER_NOT_AVAILABLE")),
        own=True,
    ),
    Setting(
        "broker.lite.cluster.id",
        ConfigType.STRING,
        None,
        "Id of the cluster; must be the id in the data directory. If not set, the id in the data "
        "directory is used, or a new one.",
        Word(),
        own=True,
    ),
    Setting(
        "broker.lite.features",
        ConfigType.LIST,
        "",
        "Feature levels to set at the start, e.g. transaction.version=1.",
        own=True,
    ),
    Setting(
        "broker.lite.gateway.advertised",
        ConfigType.STRING,
        "",
        "Address that clients are told if they connect through the default gateway, as HOST or "
        "HOST:PORT; if empty, they are told the same as all others.",
        own=True,
    ),
    Setting(
        "broker.lite.open.files.max",
        ConfigType.INT,
        "0",
        "Largest number of open segment files; 0 means a quarter of the files that the process "
        "may open.",
        Between(0),
        own=True,
    ),
    Setting(
        "broker.lite.umask",
        ConfigType.STRING,
        "077",
        "Permissions that other users do not get on new files and directories: 077 denies all, "
        "022 allows reading.",
        Umask(),
        own=True,
    ),
    Setting(
        "broker.lite.control.request.max.bytes",
        ConfigType.INT,
        "2097152",
        "Largest request of any API except Produce, in bytes; a larger one closes the connection.",
        Between(1),
        own=True,
    ),
    Setting(
        "telemetry.max.bytes",
        ConfigType.INT,
        "1048576",
        "Largest size of the metrics in one push of a client, compressed and not, in bytes.",
        Between(1),
    ),
    Setting(
        "broker.lite.batch.records.max",
        ConfigType.INT,
        "2097152",
        "Largest number of records in one batch; a larger batch is refused, and its producer may "
        "split it.",
        Between(1),
        own=True,
    ),
    Setting(
        "broker.lite.decompressed.max.bytes",
        ConfigType.INT,
        "134217728",
        "Largest size of one batch after decompression, in bytes; a larger batch is refused.",
        Between(1),
        own=True,
    ),
    Setting(
        "broker.lite.decompression.threads",
        ConfigType.INT,
        "4",
        "Number of large batches that are decompressed at the same time.",
        Between(1, 64),
        own=True,
    ),
    Setting(
        "broker.lite.fetch.sessions.max.bytes",
        ConfigType.LONG,
        "67108864",
        "Memory for all fetch sessions; when it is full, further consumers send full fetches. "
        "Share sessions have as much of their own.",
        Between(0),
        own=True,
    ),
    Setting(
        "broker.lite.groups.max.bytes",
        ConfigType.LONG,
        "268435456",
        "Memory for metadata, assignments and reserved member ids of all groups, and partitions of "
        "share groups; a join that exceeds it is refused. Records that share groups have in flight "
        "have half as much of their own.",
        Between(1),
        own=True,
    ),
    Setting(
        "broker.lite.unsent.max.bytes",
        ConfigType.LONG,
        "268435456",
        "Memory for answers that clients have not read yet; above it, the connection that has "
        "waited longest is closed.",
        Between(1),
        own=True,
    ),
    Setting(
        "broker.lite.log.level",
        ConfigType.STRING,
        "info",
        "Lowest level of the log messages that the broker writes.",
        OneOf(("debug", "info", "warning", "error")),
        own=True,
    ),
    Setting(
        "broker.lite.log.format",
        ConfigType.STRING,
        "text",
        "Format of the broker's log messages.",
        OneOf(("text", "json")),
        own=True,
    ),
)
