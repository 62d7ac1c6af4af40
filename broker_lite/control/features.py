"""Features of the cluster: which levels this broker supports, which are in force from the start.

A level is raised together with what it promises: clients change their ways when they see it.
`transaction.version` 2 makes them leave out AddPartitionsToTxn, `group.version` 1 lets them use the
new group protocol.

Rule: P-54, P-55.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple


class SupportedFeature(NamedTuple):
    """A range of levels, both inclusive, and the level of a new cluster; 0 is "off"."""

    min_level: int
    max_level: int
    initial_level: int


METADATA_VERSION: Final = "metadata.version"

SUPPORTED_FEATURES: Final[Mapping[str, SupportedFeature]] = MappingProxyType(
    {
        "group.version": SupportedFeature(0, 0, 0),
        "kraft.version": SupportedFeature(0, 0, 0),
        # 7 is the first of Kafka 3.3, 25 the one of Kafka 4.0: the records are written for it
        METADATA_VERSION: SupportedFeature(7, 25, 25),
        "transaction.version": SupportedFeature(0, 0, 0),
    }
)


def initial_features() -> dict[str, int]:
    """The levels that a new cluster starts with, without those that are off."""
    return {
        name: feature.initial_level
        for name, feature in SUPPORTED_FEATURES.items()
        if feature.initial_level > 0
    }
