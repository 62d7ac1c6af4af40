"""Metrics that clients have pushed, for Prometheus: names and labels as it writes them.

org.apache.kafka.producer.record.send.total becomes org_apache_kafka_producer_record_send_total,
with labels that say whose it is: client_id, client_instance_id, client_software_name,
client_software_version and broker, what the client says of itself, such as group_id, and the labels
of the value, such as topic. A counter's name ends in _total. Clients that have been
silent for a minute, or three push intervals, are left out: nobody updates their values any more.

Whatever clients push, all of it can be read: a label whose name another one has, or that is kept
for Prometheus, is `exported_`; values that cannot be told from others, or whose metric has the name
of another one, are left out, and so is what is too much. How many are, is the last metric.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from broker_lite.control.telemetry.clients import TelemetryClient, shown_id
from broker_lite.control.telemetry.series import Labels, Series
from broker_lite.control.telemetry.telemetry import Telemetry
from broker_lite.testbench.metrics import COUNTER, GAUGE, Metric, Sample, label_bytes
from broker_lite.testbench.turns import Turns

SAMPLES_MAX: Final = 50_000
"""Of all clients; a Java client has some 100."""
TEXT_BYTES_MAX: Final = 16 << 20
"""Of all clients' samples, as they are written; those of a Java client have some 300 each."""
LEFT_OUT: Final = "broker_lite_client_samples_left_out"

_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_]")
_TOTAL: Final = "_total"
_TEXT: Final = "Pushed by clients."
_LEFT_OUT_TEXT: Final = (
    f"Values of clients that are not told here: beyond {SAMPLES_MAX} samples or "
    f"{TEXT_BYTES_MAX} bytes, or not to be told from others."
)
_CLIENT_ID_CHARACTERS_MAX: Final = 250
_RESERVED: Final = "__"
# What is written of a sample beside name and labels, and of a metric beside its name, twice.
_SAMPLE_BYTES: Final = 32
_METRIC_BYTES: Final = 64


class _Samples:
    """The samples of one metric; their labels are put together when they are written.

    Attributes:
        name: of the metric.
        kind: gauge or counter.
    """

    __slots__ = ("_samples", "kind", "name")

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.kind = kind
        self._samples: list[tuple[Mapping[str, str], Labels, float]] = []

    def add(self, of_client: Mapping[str, str], own: Labels, value: float) -> None:
        """Add a sample."""
        self._samples.append((of_client, own, value))

    def __iter__(self) -> Iterator[Sample]:
        for of_client, own, value in self._samples:
            yield {**of_client, **dict(own)}, value


class _Collected:
    """The metrics of all clients, as many as there is room for.

    Attributes:
        left_out: how many values are not told.
    """

    def __init__(self, taken: Collection[str]) -> None:
        self._taken = taken
        self._metrics: dict[str, _Samples] = {}
        self._count = 0
        self._bytes = 0
        self.left_out = 0

    async def add(self, client: TelemetryClient, turns: Turns) -> None:
        """Add the values of a client."""
        if self._count == SAMPLES_MAX:
            self.left_out += len(client.series)
            return
        of_client = _client_labels(client)
        common_bytes = label_bytes(of_client.items())
        told: set[tuple[str, frozenset[tuple[str, str]]]] = set()
        for (pushed_name, pushed_labels), series in [*client.series.items()]:
            name = _name(pushed_name, series)
            own = tuple(dict(_renamed(pushed_labels, of_client)).items())
            key = name, frozenset(own)
            samples = self._metric(name, series)
            labels_bytes = common_bytes + label_bytes(own)
            if key in told or samples is None or not self._has_room(samples, labels_bytes):
                self.left_out += 1
            else:
                told.add(key)
                self._metrics[name] = samples
                samples.add(of_client, own, series.value)
            await turns.next()

    def _metric(self, name: str, series: Series) -> _Samples | None:
        """Return the metric that a series belongs to; None if another one has its name."""
        kind = COUNTER if series.is_counter else GAUGE
        samples = self._metrics.get(name) or _Samples(name, kind)
        return None if name in self._taken or samples.kind != kind else samples

    def _has_room(self, samples: _Samples, labels_bytes: int) -> bool:
        """Whether a further sample of a metric is within the bounds, which is noted then."""
        added_bytes = len(samples.name) + labels_bytes + _SAMPLE_BYTES
        if samples.name not in self._metrics:
            added_bytes += 2 * len(samples.name) + _METRIC_BYTES
        if self._count == SAMPLES_MAX or self._bytes + added_bytes > TEXT_BYTES_MAX:
            return False
        self._count += 1
        self._bytes += added_bytes
        return True

    async def metrics(self, turns: Turns) -> list[Metric]:
        """Return them, in the order in which they came first."""
        metrics: list[Metric] = []
        for each in self._metrics.values():
            metrics.append(Metric(each.name, each.kind, _TEXT, each))
            await turns.next()
        return metrics


async def client_metrics(
    telemetry: Telemetry, now_ms: int, taken: Iterable[str] = ()
) -> list[Metric]:
    """Return the metrics of all clients; others run in between.

    Args:
        telemetry: what was pushed.
        now_ms: milliseconds since the epoch.
        taken: the names of other metrics, which clients' ones must not have.
    """
    collected, turns = _Collected({*taken, LEFT_OUT}), Turns()
    for client in telemetry.clients:
        if client.is_recent(now_ms):
            await collected.add(client, turns)
        await turns.next()
    left_out = Metric(LEFT_OUT, GAUGE, _LEFT_OUT_TEXT, [({}, collected.left_out)])
    return [*await collected.metrics(turns), left_out]


def _name(name: str, series: Series) -> str:
    told = _told(name)
    return f"{told}{_TOTAL}" if series.is_counter and not told.endswith(_TOTAL) else told


def _client_labels(client: TelemetryClient) -> dict[str, str]:
    identity = client.identity
    labels = {
        "client_id": identity.client_id[:_CLIENT_ID_CHARACTERS_MAX],
        "client_instance_id": shown_id(client.instance_id),
        "client_software_name": identity.software_name,
        "client_software_version": identity.software_version,
        "broker": str(identity.node_id),
    }
    return labels | dict(_renamed(client.resource.items(), labels))


def _renamed(
    labels: Iterable[tuple[str, str]], taken: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield labels as Prometheus writes them; those with a name that is taken are `exported_`."""
    for name, value in labels:
        told = _told(name)
        while told in taken or told.startswith(_RESERVED):
            told = f"exported_{told}"
        yield told, value


def _told(name: str) -> str:
    told = _NOT_IN_NAMES.sub("_", name)
    return f"_{told}" if not told or told[0].isdigit() else told
