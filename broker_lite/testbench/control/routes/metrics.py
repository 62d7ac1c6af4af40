"""Metrics for Prometheus."""

from broker_lite.testbench.control.resource import Call, Raw, Resource
from broker_lite.testbench.metrics import MEDIA_TYPE, collect, render


async def metrics(call: Call) -> Raw:
    """Tell the broker's metrics in the text format of Prometheus."""
    return Raw(MEDIA_TYPE, (await render(await collect(call.bench))).encode())


RESOURCES = (Resource("GET", "/metrics", metrics, answer=Raw),)
