"""The assignors by the names that members and settings give them."""

from collections.abc import Mapping
from typing import Final

from broker_lite.coordinator.assignor import Assignor
from broker_lite.coordinator.assignor_range import assign_range
from broker_lite.coordinator.assignor_uniform import assign_uniform

ASSIGNORS: Final[Mapping[str, Assignor]] = {"range": assign_range, "uniform": assign_uniform}
