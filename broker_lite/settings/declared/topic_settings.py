"""The settings of topics.

Rule: S-99 (TopicConfig).
See: P-121.
"""

from typing import Final

from broker_lite.settings.setting import ConfigType, Scope, Setting, Synonym
from broker_lite.settings.values import Between, GzipLevel, OneOf, ThrottledReplicas, Validator

LONG_MAX: Final = str((1 << 63) - 1)
COMPRESSION_TYPES: Final = OneOf(("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"))
CLEANUP_POLICIES: Final = OneOf(("compact", "delete"))
TIMESTAMP_TYPES: Final = OneOf(("CreateTime", "LogAppendTime"))
SECONDS: Final = 1000
# Kafka accepts smaller segments for the coordinators' topics, but then it cannot create the topics.
SEGMENT_BYTES_MIN: Final = 1 << 20
HOURS: Final = 3600 * SECONDS


def _topic(
    name: str,
    kind: ConfigType,
    default: str | None,
    doc: str,
    validator: Validator | None = None,
    *synonyms: str | Synonym,
) -> Setting:
    return Setting(
        name,
        kind,
        default,
        doc,
        validator,
        Scope.BOTH if name in synonyms else Scope.TOPIC,
        dynamic=True,
        synonyms=tuple(Synonym(one) if isinstance(one, str) else one for one in synonyms),
    )


BOOLEAN, STRING, INT, LONG, DOUBLE, LIST = (
    ConfigType.BOOLEAN,
    ConfigType.STRING,
    ConfigType.INT,
    ConfigType.LONG,
    ConfigType.DOUBLE,
    ConfigType.LIST,
)

TOPIC_SETTINGS: Final = (
    _topic(
        "cleanup.policy",
        LIST,
        "delete",
        "What happens to old segments: they are deleted, or compacted to the last record of each "
        "key, or both.",
        CLEANUP_POLICIES,
        "log.cleanup.policy",
    ),
    _topic(
        "compression.gzip.level",
        INT,
        "-1",
        "Level at which the broker compresses if compression.type is gzip.",
        GzipLevel(),
        "compression.gzip.level",
    ),
    _topic(
        "compression.lz4.level",
        INT,
        "9",
        "Level at which the broker compresses if compression.type is lz4.",
        Between(1, 17),
        "compression.lz4.level",
    ),
    _topic(
        "compression.type",
        STRING,
        "producer",
        "Codec in which batches are stored; producer keeps the codec of each batch.",
        COMPRESSION_TYPES,
        "compression.type",
    ),
    _topic(
        "compression.zstd.level",
        INT,
        "3",
        "Level at which the broker compresses if compression.type is zstd.",
        Between(-131072, 22),
        "compression.zstd.level",
    ),
    _topic(
        "delete.retention.ms",
        LONG,
        "86400000",
        "How long compaction keeps tombstones and transaction markers.",
        Between(0),
        "log.cleaner.delete.retention.ms",
    ),
    _topic(
        "file.delete.delay.ms",
        LONG,
        "60000",
        "How long the files of a deleted segment stay on disk.",
        Between(0),
        "log.segment.delete.delay.ms",
    ),
    _topic(
        "flush.messages",
        LONG,
        LONG_MAX,
        "Number of records after which a log is flushed to disk.",
        Between(1),
        "log.flush.interval.messages",
    ),
    _topic(
        "flush.ms",
        LONG,
        LONG_MAX,
        "Time after which a log is flushed to disk.",
        Between(0),
        "log.flush.interval.ms",
        "log.flush.scheduler.interval.ms",
    ),
    _topic(
        "follower.replication.throttled.replicas",
        LIST,
        "",
        "Has no effect: replicas are not copied over the network.",
        ThrottledReplicas(),
    ),
    _topic(
        "index.interval.bytes",
        INT,
        "4096",
        "Bytes of records after which the offset index gets its next entry.",
        Between(0),
        "log.index.interval.bytes",
    ),
    Setting(
        "internal.segment.bytes",
        INT,
        None,
        "Like segment.bytes, but without its lower bound; for tests.",
        scope=Scope.TOPIC,
        dynamic=True,
        internal=True,
    ),
    _topic(
        "leader.replication.throttled.replicas",
        LIST,
        "",
        "Has no effect: replicas are not copied over the network.",
        ThrottledReplicas(),
    ),
    _topic(
        "local.retention.bytes",
        LONG,
        "-2",
        "Has no effect: there is no tiered storage.",
        Between(-2),
        "log.local.retention.bytes",
    ),
    _topic(
        "local.retention.ms",
        LONG,
        "-2",
        "Has no effect: there is no tiered storage.",
        Between(-2),
        "log.local.retention.ms",
    ),
    _topic(
        "max.compaction.lag.ms",
        LONG,
        LONG_MAX,
        "Time after which a record must be compacted.",
        Between(1),
        "log.cleaner.max.compaction.lag.ms",
    ),
    _topic(
        "max.message.bytes",
        INT,
        "1048588",
        "Largest batch of records in bytes, compressed and with its header.",
        Between(0),
        "message.max.bytes",
    ),
    _topic(
        "message.timestamp.after.max.ms",
        LONG,
        "3600000",
        "How far a record's timestamp may be ahead of the broker's clock.",
        Between(0),
        "log.message.timestamp.after.max.ms",
    ),
    _topic(
        "message.timestamp.before.max.ms",
        LONG,
        LONG_MAX,
        "How far a record's timestamp may be behind the broker's clock.",
        Between(0),
        "log.message.timestamp.before.max.ms",
    ),
    _topic(
        "message.timestamp.type",
        STRING,
        "CreateTime",
        "Whether records keep their producer's timestamp or get the time of the append.",
        TIMESTAMP_TYPES,
        "log.message.timestamp.type",
    ),
    _topic(
        "min.cleanable.dirty.ratio",
        DOUBLE,
        "0.5",
        "A log is compacted when more than this share of it is not compacted yet.",
        Between(0, 1),
        "log.cleaner.min.cleanable.ratio",
    ),
    _topic(
        "min.compaction.lag.ms",
        LONG,
        "0",
        "Time for which a new record is not compacted.",
        Between(0),
        "log.cleaner.min.compaction.lag.ms",
    ),
    _topic(
        "min.insync.replicas",
        INT,
        "1",
        "Number of replicas that must be in sync for a produce with acks=all.",
        Between(1),
        "min.insync.replicas",
    ),
    _topic(
        "preallocate",
        BOOLEAN,
        "false",
        "Has no effect: a segment reserves disk space in small steps as it grows.",
        None,
        "log.preallocate",
    ),
    _topic(
        "remote.log.copy.disable",
        BOOLEAN,
        "false",
        "Has no effect: there is no tiered storage.",
    ),
    _topic(
        "remote.log.delete.on.disable",
        BOOLEAN,
        "false",
        "Has no effect: there is no tiered storage.",
    ),
    _topic(
        "remote.storage.enable",
        BOOLEAN,
        "false",
        "Must be false, because there is no tiered storage.",
    ),
    _topic(
        "retention.bytes",
        LONG,
        "-1",
        "Size of a partition above which its oldest segments are deleted; -1 means no limit.",
        None,
        "log.retention.bytes",
    ),
    _topic(
        "retention.ms",
        LONG,
        "604800000",
        "Age at which segments are deleted; -1 means no limit.",
        Between(-1),
        "log.retention.ms",
        Synonym("log.retention.minutes", 60 * SECONDS),
        Synonym("log.retention.hours", HOURS),
    ),
    _topic(
        "segment.bytes",
        INT,
        "1073741824",
        "Size at which a segment is closed and the next one begins.",
        Between(SEGMENT_BYTES_MIN),
        "log.segment.bytes",
    ),
    _topic(
        "segment.index.bytes",
        INT,
        "10485760",
        "Largest size of a segment's offset index; a full one closes the segment.",
        Between(4),
        "log.index.size.max.bytes",
    ),
    _topic(
        "segment.jitter.ms",
        LONG,
        "0",
        "Largest random time by which a segment is closed earlier than segment.ms says.",
        Between(0),
        "log.roll.jitter.ms",
        Synonym("log.roll.jitter.hours", HOURS),
    ),
    _topic(
        "segment.ms",
        LONG,
        "604800000",
        "Age at which a segment is closed even if it is not full.",
        Between(1),
        "log.roll.ms",
        Synonym("log.roll.hours", HOURS),
    ),
    _topic(
        "unclean.leader.election.enable",
        BOOLEAN,
        "false",
        "Whether a replica that lacks records may become the leader if no other one is alive.",
        None,
        "unclean.leader.election.enable",
    ),
)
