"""A client that asks for its subscription to metrics, without a broker."""

from broker_lite.control.telemetry.clients import Identity, TelemetryClient
from broker_lite.control.telemetry.telemetry import Telemetry
from broker_lite.errors import ErrorCode


def subscribe(
    telemetry: Telemetry, identity: Identity, instance_id: bytes, now_ms: int
) -> tuple[ErrorCode, TelemetryClient]:
    """Ask as the handler does, but all at once; zeros are the id of a new client."""
    instance_id = telemetry.instance_id(identity, instance_id)
    search = telemetry.search(identity, instance_id, now_ms)
    for _ in search or ():
        pass
    return telemetry.subscribe(identity, instance_id, now_ms, search)
