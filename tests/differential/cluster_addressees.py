"""To whom a step goes: a broker by its id, or by what it is to a partition, group or producer."""

import time
from collections.abc import Sequence
from typing import Any, Final

from broker_lite.wire import messages
from tests.differential.cluster import Clients
from tests.differential.cluster_requests import Known
from tests.differential.coordinator_memory import Memory

FIND_TIMEOUT_S: Final = 20.0
POLL_S: Final = 0.02
GROUP: Final = 0
TRANSACTIONAL_ID: Final = 1
At = Any
"""A broker's id, or one of:

- ("leader", topic, partition)
- ("follower", topic, partition, which): a broker that runs and has another replica
- ("other", topic, partition): a broker that runs and has no replica
- ("coordinator", type, key)
- ("elsewhere", type, key, which): a broker that runs and is not the coordinator
"""


class Addressees:
    """Finds the broker that a step goes to; where there is no such one, the first that runs."""

    def __init__(self, clients: Clients, memory: Memory, known: Known) -> None:
        self._clients = clients
        self._memory = memory
        self._known = known

    @staticmethod
    def is_coordinator(at: At) -> bool:
        """Whether a step goes to a coordinator."""
        return not isinstance(at, int) and at[0] == "coordinator"

    def find(self, at: At, up: Sequence[int]) -> int:
        """The id of the broker.

        Args:
            at: see At.
            up: the brokers that run.
        """
        if isinstance(at, int):
            return at
        role, *rest = at
        if role in ("coordinator", "elsewhere"):
            return self._coordinated(role, rest, up)
        topic, index = rest[:2]
        known = self._known.partitions.get((topic, index))
        if known is None:
            return up[0]
        if role == "leader":
            return known.leader if known.leader > 0 else up[0]
        if role == "follower":
            found = [one for one in known.replicas if one != known.leader and one in up]
            return found[rest[2] % len(found)] if found else up[0]
        return next((one for one in up if one not in known.replicas), up[0])

    def _coordinated(self, role: str, rest: Sequence[Any], up: Sequence[int]) -> int:
        found = self._coordinator(rest[0], rest[1], up[0])
        if role == "coordinator":
            return found
        others = [one for one in up if one != found]
        return others[rest[2] % len(others)] if others else up[0]

    def _coordinator(self, key_type: int, key: str, node_id: int) -> int:
        request = messages.FindCoordinatorRequest(key=self._memory.own(key), key_type=key_type)
        deadline = time.monotonic() + FIND_TIMEOUT_S
        while True:
            answer = self._clients.ask(node_id, request, 3)
            if answer.error_code == 0 or time.monotonic() > deadline:
                return answer.node_id if answer.error_code == 0 else node_id
            time.sleep(POLL_S)
