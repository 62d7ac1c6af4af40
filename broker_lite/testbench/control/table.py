"""The one table of the control API."""

from collections.abc import Sequence
from typing import Final

from broker_lite.testbench.control.resource import Resource
from broker_lite.testbench.control.routes import (
    acls,
    broker_state,
    brokers,
    certificates,
    connections,
    explaining,
    faults,
    groups,
    limits,
    metrics,
    oauth,
    openapi,
    partitions,
    records,
    requests,
    scripts,
    security,
    segments,
    share_groups,
    snapshots,
    streams_groups,
    telemetry,
    topics,
    transactions,
)

RESOURCES: Final[Sequence[Resource]] = (
    *broker_state.RESOURCES,
    *faults.RESOURCES,
    *requests.RESOURCES,
    *scripts.RESOURCES,
    *explaining.RESOURCES,
    *brokers.RESOURCES,
    *topics.RESOURCES,
    *records.RESOURCES,
    *partitions.RESOURCES,
    *segments.RESOURCES,
    *groups.RESOURCES,
    *share_groups.RESOURCES,
    *streams_groups.RESOURCES,
    *transactions.RESOURCES,
    *connections.RESOURCES,
    *limits.RESOURCES,
    *telemetry.RESOURCES,
    *snapshots.RESOURCES,
    *security.RESOURCES,
    *certificates.RESOURCES,
    *acls.RESOURCES,
    *oauth.RESOURCES,
    *metrics.RESOURCES,
    *openapi.RESOURCES,
)
"""All resources, in the order of the docs."""
