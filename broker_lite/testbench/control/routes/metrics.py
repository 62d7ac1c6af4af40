"""Metrics for Prometheus: the broker's own, and those that clients push."""

from broker_lite.testbench.control.resource import Call, Raw, Resource
from broker_lite.testbench.metrics import MEDIA_TYPE, collect, render


async def metrics(call: Call) -> Raw:
    """Tell metrics of the broker, and those that clients push, in the text format of Prometheus."""
    found = await collect(call.bench)
    life = call.bench.life
    if life.telemetry.begun is not None:
        from broker_lite.testbench.client_metrics import client_metrics

        now_ms, names = life.clock.steady_ms(), [each.name for each in found]
        found += await client_metrics(life.telemetry.begun, now_ms, names)
    return Raw(MEDIA_TYPE, (await render(found)).encode())


RESOURCES = (Resource("GET", "/metrics", metrics, answer=Raw),)
