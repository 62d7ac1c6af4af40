"""The assignors, by the names that members and settings use."""

from collections.abc import Mapping
from typing import Final

from broker_lite.coordinator.assignors.assignor import Assignor
from broker_lite.coordinator.assignors.range import assign_range
from broker_lite.coordinator.assignors.uniform import assign_uniform

ASSIGNORS: Final[Mapping[str, Assignor]] = {"range": assign_range, "uniform": assign_uniform}
