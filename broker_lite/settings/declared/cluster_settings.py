"""The broker's settings about the other brokers of its cluster: replicas, leaders, sessions."""

from typing import Final

from broker_lite.settings.setting import ConfigType, Setting
from broker_lite.settings.values import Between, OneOf

RACK_AWARE_SELECTOR: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
"""The one class that replica.selector.class may name."""

CLUSTER_SETTINGS: Final = (
    Setting(
        "broker.heartbeat.interval.ms",
        ConfigType.INT,
        "2000",
        "How often the process of a broker tells the first process that it does not hang; of "
        "several processes only.",
    ),
    Setting(
        "broker.session.timeout.ms",
        ConfigType.INT,
        "9000",
        "Time after which the cluster notices that a broker is gone or hangs, and others take over "
        "what it leads; 0 means at once.",
    ),
    Setting(
        "controlled.shutdown.enable",
        ConfigType.BOOLEAN,
        "true",
        "Whether a broker that is stopped lets others take over what it leads first; if not, they "
        "do so when its session has ended.",
    ),
    Setting(
        "replica.lag.time.max.ms",
        ConfigType.LONG,
        "30000",
        "Time after which a replica that has not caught up with its leader leaves the ISR.",
    ),
    Setting(
        "replica.selector.class",
        ConfigType.STRING,
        None,
        "With this class, a leader sends consumers of another rack to the replica in their rack; "
        "without one, consumers read from the leader.",
        OneOf((RACK_AWARE_SELECTOR,)),
    ),
    Setting(
        "auto.leader.rebalance.enable",
        ConfigType.BOOLEAN,
        "true",
        "Whether preferred replicas become the leaders again, from time to time.",
    ),
    Setting(
        "leader.imbalance.check.interval.seconds",
        ConfigType.LONG,
        "300",
        "How often auto.leader.rebalance.enable looks for partitions that others lead.",
        Between(1),
    ),
    Setting(
        "unclean.leader.election.interval.ms",
        ConfigType.LONG,
        "300000",
        "How often partitions without a leader are looked for that unclean.leader.election.enable "
        "lets elect one.",
        Between(1),
        internal=True,
    ),
)
