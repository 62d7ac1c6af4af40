"""What the test bench can do only where all brokers are one process."""

from typing import Final

from broker_lite.server.life import Life
from broker_lite.testbench.errors import ControlError

_CONFLICT: Final = 409
ELSEWHERE: Final = "a partition of it is in another process; ask its broker by Kafka's protocol"


def check_is_alone(life: Life, what: str) -> None:
    """Demand that there are no other processes.

    Args:
        life: of the broker.
        what: is to be done, for a person.

    Raises:
        ControlError: 409, there are some.
    """
    cluster = life.cluster
    if len(cluster.all_node_ids) > len(cluster.node_ids):
        raise ControlError(_CONFLICT, f"{what}: not with several processes")
