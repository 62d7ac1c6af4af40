"""Metrics in the text format of Prometheus.

The names are those that Kafka's usual JMX exporter rules make. Only numbers that the broker has
anyway are told: nothing is counted per request. So there are no bytes in and out and no request
times. Messages in are counted by offsets: they also have the markers of transactions, and what was
there at the start. Requests are counted while the journal records, and only then.
"""

import os
import resource
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Final, NamedTuple

from broker_lite import __version__
from broker_lite.control.metadata.topic import NO_LEADER, Topic
from broker_lite.server.life import Life
from broker_lite.testbench.bench import Bench
from broker_lite.testbench.turns import Turns

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
# Whether others are to have their turn is asked after so many partitions.
_AT_A_TIME: Final = 200
_GROUP_STATES: Final = (
    "Stable",
    "Empty",
    "PreparingRebalance",
    "CompletingRebalance",
    "Assigning",
    "Reconciling",
    "Dead",
)
GAUGE: Final = "gauge"
COUNTER: Final = "counter"

# The signs around the value of a label: an equals sign, quotes, a comma.
_QUOTES: Final = 4

Sample = tuple[Mapping[str, object], float]


class Metric(NamedTuple):
    """One metric with its samples.

    Attributes:
        name: of Prometheus.
        kind: gauge or counter.
        text: what it is, in one line.
        samples: labels and values.
    """

    name: str
    kind: str
    text: str
    samples: Iterable[Sample]


async def render(metrics: Iterable[Metric]) -> str:
    """Return metrics as Prometheus reads them; other tasks run in between."""
    lines, turns = list[str](), Turns()
    for metric in metrics:
        lines.append(f"# HELP {metric.name} {metric.text}")
        lines.append(f"# TYPE {metric.name} {metric.kind}")
        for labels, value in metric.samples:
            told = ",".join(f'{key}="{_escaped(each)}"' for key, each in labels.items())
            shown = f"{{{told}}}" if told else ""
            lines.append(f"{metric.name}{shown} {value:.17g}")
            await turns.next()
    return "\n".join(lines) + "\n"


def label_bytes(labels: Iterable[tuple[str, object]]) -> int:
    """Return how many bytes labels take as they are written."""
    return sum(len(name) + len(_escaped(value).encode()) + _QUOTES for name, value in labels)


def _escaped(value: object) -> str:
    return str(value).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


async def collect(bench: Bench) -> list[Metric]:
    """Collect all metrics of a running broker; other tasks run in between."""
    life = bench.life
    return [
        *await _of_logs(life),
        *await _of_brokers(life),
        _of_quotas(life),
        *await _of_groups(life),
        *await _of_transactions(life),
        _one(
            "broker_lite_journal_requests_total",
            "Requests that the journal has recorded.",
            bench.journal.last,
            COUNTER,
        ),
        *_of_process(),
    ]


def _one(name: str, text: str, value: float, kind: str = GAUGE) -> Metric:
    return Metric(name, kind, text, [({}, value)])


class _Logs:
    """The samples of all partitions."""

    def __init__(self) -> None:
        self.messages: list[Sample] = []
        self.ends: list[Sample] = []
        self.starts: list[Sample] = []
        self.sizes: list[Sample] = []
        self.segments: list[Sample] = []

    def add(self, life: Life, topic: Topic, index: int) -> int:
        """Add a partition; return its log end offset."""
        labels = {"topic": topic.name, "partition": index}
        log = life.cluster.loaded_log(topic.name, index)
        if log is None:  # it was not used since the start: nothing is read for a metric
            partition = life.cluster.logs.checkpoints.partitions.get((topic.name, index))
            end = 0 if partition is None else partition.recovery_point
            self.ends.append((labels, end))
            return end
        self.ends.append((labels, log.log_end_offset))
        self.starts.append((labels, log.log_start_offset))
        self.sizes.append((labels, log.segments.size_bytes))
        self.segments.append((labels, len(log.segments.all)))
        return log.log_end_offset


async def _of_logs(life: Life) -> list[Metric]:
    logs = _Logs()
    async for topic, indexes in _in_turns(life):
        total = sum(logs.add(life, topic, index) for index in indexes)
        if indexes.start:
            labels, before = logs.messages.pop()
            logs.messages.append((labels, before + total))
        else:
            logs.messages.append(({"topic": topic.name}, total))
    return [
        Metric(
            "kafka_server_brokertopicmetrics_messagesin_total",
            COUNTER,
            "Offsets that were given to records and transaction markers.",
            logs.messages,
        ),
        Metric("kafka_log_log_logendoffset", GAUGE, "Log end offset.", logs.ends),
        Metric("kafka_log_log_logstartoffset", GAUGE, "Log start offset.", logs.starts),
        Metric("kafka_log_log_size", GAUGE, "Bytes of a log that is in use.", logs.sizes),
        Metric("kafka_log_log_numlogsegments", GAUGE, "Segments of a log.", logs.segments),
    ]


async def _in_turns(life: Life) -> AsyncIterator[tuple[Topic, range]]:
    """Yield topics with some of their partitions each."""
    turns = Turns()
    for topic in [*life.cluster.topics.values()]:
        for first in range(0, topic.partition_count, _AT_A_TIME):
            yield topic, range(first, min(first + _AT_A_TIME, topic.partition_count))
            await turns.next()


async def _of_brokers(life: Life) -> list[Metric]:
    led: Counter[int] = Counter()
    under: Counter[int] = Counter()
    held: Counter[int] = Counter()
    async for topic, indexes in _in_turns(life):
        for each in topic.partitions[indexes.start : indexes.stop]:
            led[each.leader] += 1
            held.update(each.replicas)
            if len(each.isr) < len(each.replicas):
                under[each.leader] += 1
    nodes = [*life.nodes.states]
    connections = [
        ({"broker": node_id, "listener": name}, float(count))
        for node_id in nodes
        for name, count in Counter(
            each.context.listener.name for each in life.nodes.connections(node_id)
        ).items()
    ]
    return [
        Metric(
            "kafka_server_replicamanager_partitioncount",
            GAUGE,
            "Partitions of which a broker has a replica.",
            [({"broker": each}, held[each]) for each in nodes],
        ),
        Metric(
            "kafka_server_replicamanager_leadercount",
            GAUGE,
            "Partitions that a broker leads.",
            [({"broker": each}, led[each]) for each in nodes],
        ),
        Metric(
            "kafka_server_replicamanager_underreplicatedpartitions",
            GAUGE,
            "Partitions that a broker leads, and of which replicas are not in sync.",
            [({"broker": each}, under[each]) for each in nodes],
        ),
        _one(
            "kafka_controller_kafkacontroller_offlinepartitionscount",
            "Partitions without a leader.",
            led[NO_LEADER],
        ),
        _one(
            "kafka_controller_kafkacontroller_globaltopiccount",
            "Topics.",
            len(life.cluster.topics),
        ),
        _one("kafka_controller_kafkacontroller_globalpartitioncount", "Partitions.", led.total()),
        Metric(
            "kafka_server_socket_server_metrics_connection_count",
            GAUGE,
            "Connections of clients.",
            connections,
        ),
    ]


def _of_quotas(life: Life) -> Metric:
    return Metric(
        "broker_lite_throttled_requests_total",
        COUNTER,
        "Requests after which a broker let their client wait, because it was above a quota.",
        [({"broker": each}, count) for each, count in life.throttled_counts().items()],
    )


async def _of_groups(life: Life) -> list[Metric]:
    groups = life.coordinators.groups
    states: Counter[str] = Counter()
    if groups.topic.exists:
        known = groups.coordinator.registry.groups.values()
        turns = Turns()
        for each in [*known]:
            states[str(each.state.value)] += 1
            await turns.next()
    name = "kafka_coordinator_group_groupmetadatamanager_numgroups"
    return [
        _one(name, "Groups.", states.total()),
        *(
            _one(f"{name}{state.lower()}", f"Groups in the state {state}.", states[state])
            for state in _GROUP_STATES
        ),
    ]


async def _of_transactions(life: Life) -> list[Metric]:
    states, turns = Counter[str](), Turns()
    for each in [*life.coordinators.transactions.unreplicated.all()]:
        states[each.state.text] += 1
        await turns.next()
    return [
        Metric(
            "broker_lite_transactional_ids",
            GAUGE,
            "Transactional ids by state.",
            [({"state": state}, count) for state, count in sorted(states.items())],
        )
    ]


def _of_process() -> list[Metric]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    with open("/proc/self/statm") as file:
        resident_bytes = int(file.read().split()[1]) * _PAGE_BYTES
    return [
        _one(
            "process_cpu_seconds_total",
            "CPU time of the process.",
            used.ru_utime + used.ru_stime,
            COUNTER,
        ),
        _one("process_resident_memory_bytes", "Memory of the process.", resident_bytes),
        _one("process_open_fds", "Open files.", len(os.listdir("/proc/self/fd"))),
        Metric("broker_lite_info", GAUGE, "The version.", [({"version": __version__}, 1)]),
    ]
