"""A client that pushes metrics by hand, for brokers whose clients nobody has."""

from collections.abc import Mapping
from typing import Any

from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from tests.support.raw_client import RawClient

ZEROS = bytes(16)
DELTA = 1


def message(
    gauges: Mapping[str, float] | None = None,
    deltas: Mapping[str, float] | None = None,
    labels: Mapping[str, str] | None = None,
    **resource: str,
) -> bytes:
    """The bytes of a MetricsData with one value for each metric.

    Args:
        gauges: values by name.
        deltas: by how much counters have grown, by name.
        labels: of all values.
        resource: what the client says of itself.
    """
    data = MetricsData()
    of_resource = data.resource_metrics.add()
    for key, text in resource.items():
        of_resource.resource.attributes.add(key=key).value.string_value = text
    metrics = of_resource.scope_metrics.add().metrics
    points = [
        metrics.add(name=n).gauge.data_points.add(as_double=v) for n, v in (gauges or {}).items()
    ]
    for name, value in (deltas or {}).items():
        total = metrics.add(name=name).sum
        total.is_monotonic, total.aggregation_temporality = True, DELTA
        points.append(total.data_points.add(as_double=value))
    for point in points:
        for key, text in (labels or {}).items():
            point.attributes.add(key=key).value.string_value = text
    return data.SerializeToString()


class PushingClient:
    """One connection, with what it was told to push."""

    def __init__(self, bootstrap: str, client_id: str) -> None:
        host, _, port = bootstrap.rpartition(":")
        self.raw = RawClient(host, int(port), client_id=client_id)
        software = {"client_software_name": "by-hand", "client_software_version": "1.0"}
        self.raw.call("ApiVersions", 4, **software)
        self.told: Any = self.subscribe()

    def subscribe(self, instance_id: bytes = ZEROS) -> Any:
        """Ask what to push."""
        return self.raw.call("GetTelemetrySubscriptions", 0, client_instance_id=instance_id)

    def push(self, metrics: bytes, **changed: Any) -> int:
        """Push, and return the error code."""
        fields = {
            "client_instance_id": self.told.client_instance_id,
            "subscription_id": self.told.subscription_id,
            "terminating": False,
            "compression_type": 0,
        }
        answer = self.raw.call("PushTelemetry", 0, metrics=metrics, **fields | changed)
        return int(answer.error_code)

    def __enter__(self) -> "PushingClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.raw.close()
