"""Metrics that clients have pushed, for Prometheus: names and labels as it writes them.

org.apache.kafka.producer.record.send.total becomes org_apache_kafka_producer_record_send_total,
with labels that say whose it is: client_id, client_instance_id, client_software_name,
client_software_version and broker, what the client says of itself, such as group_id, and the labels
of the value, such as topic. A counter's name ends in _total. Clients that have been
silent for a minute, or three push intervals, are left out: nobody updates their values any more.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from broker_lite.control.telemetry.clients import TelemetryClient, shown_id
from broker_lite.control.telemetry.series import Labels, Series
from broker_lite.control.telemetry.telemetry import Telemetry
from broker_lite.testbench.metrics import COUNTER, GAUGE, Metric, Sample
from broker_lite.testbench.turns import Turns

_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_]")
_TOTAL: Final = "_total"
_TEXT: Final = "Pushed by clients."
SAMPLES_MAX: Final = 50_000
"""Of all clients; a Java client has some 100."""


async def client_metrics(telemetry: Telemetry, now_ms: int) -> list[Metric]:
    """Return the metrics of all clients, in the order of their names; others run in between.

    Args:
        telemetry: what was pushed.
        now_ms: milliseconds since the epoch.
    """
    found: dict[str, tuple[str, list[Sample]]] = {}
    turns, count = Turns(), 0
    for client in telemetry.clients:
        if not client.is_recent(now_ms):
            continue
        of_client = _client_labels(client)
        for (name, labels), series in [*client.series.items()]:
            if count == SAMPLES_MAX:
                break
            count += 1
            kind, samples = found.setdefault(_name(name, series), (_kind(series), []))
            if kind == _kind(series):
                samples.append((_labels(of_client, labels), series.value))
            await turns.next()
    return [Metric(name, kind, _TEXT, samples) for name, (kind, samples) in sorted(found.items())]


def _kind(series: Series) -> str:
    return COUNTER if series.is_counter else GAUGE


def _name(name: str, series: Series) -> str:
    told = _NOT_IN_NAMES.sub("_", name)
    if not told or told[0].isdigit():
        told = f"_{told}"
    return f"{told}{_TOTAL}" if series.is_counter and not told.endswith(_TOTAL) else told


def _client_labels(client: TelemetryClient) -> dict[str, str]:
    identity = client.identity
    return {
        "client_id": identity.client_id,
        "client_instance_id": shown_id(client.instance_id),
        "client_software_name": identity.software_name,
        "client_software_version": identity.software_version,
        "broker": str(identity.node_id),
        **dict(_renamed(tuple(client.resource.items()))),
    }


def _labels(of_client: Mapping[str, str], labels: Labels) -> Mapping[str, str]:
    """Return all labels of a value; what has the name of one of its client's is `exported`."""
    told = dict(of_client)
    for name, value in _renamed(labels):
        told[f"exported_{name}" if name in of_client else name] = value
    return told


def _renamed(labels: Labels) -> Iterator[tuple[str, str]]:
    for name, value in labels:
        told = _NOT_IN_NAMES.sub("_", name)
        yield (f"_{told}" if not told or told[0].isdigit() else told), value
