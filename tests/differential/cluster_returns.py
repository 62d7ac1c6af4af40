"""Scripts in which a broker comes back while the session of another one has not ended yet.

They are written by hand, because a broker of Kafka that is started comes back at a time of its own,
and only one that stood still comes back at once.
"""

from typing import Any, Final

from tests.differential.cluster_script import Script
from tests.differential.coordinator_sequence import Step

_LOOK: Final = Step("Look")
_END: Final = Step("EndSessions")
_TOPICS: Final[Any] = (
    ("own-0", -1, -1, ((0, (3, 2, 1)), (1, (1, 3, 2)), (2, (2, 1, 3))), ()),
    ("own-1", -1, -1, ((0, (3, 1)), (1, (1, 3))), (("min.insync.replicas", "2"),)),
    ("own-2", -1, -1, ((0, (3, 1)),), (("unclean.leader.election.enable", "true"),)),
)
_CREATE: Final = Step("CreateTopics", 7, args={"at": 1, "validate": False, "topics": _TOPICS})


def _of_node(api: str, node_id: int, *, is_early: bool = False) -> Step:
    args: dict[str, Any] = {"node": node_id}
    return Step(api, args={**args, "early": True} if is_early else args)


def _produce(count: int) -> Step:
    args = {
        "at": ("leader", "own-0", 0),
        "topics": (("own-0", (0,)),),
        "acks": 1,
        "count": count,
        "time": 100,
        "timeout_ms": 8000,
    }
    return Step("Produce", 9, args=args)


def _script(seed: int, gone: Step, back: Step) -> Script:
    """Broker 1 comes back while 3, which leads everything, is silent."""
    steps = [
        *(_CREATE, _produce(1), _of_node("Stop", 2), _produce(1)),
        *(_of_node("Pause", 1), _produce(2), _LOOK),
        *(gone, _of_node("Resume", 1, is_early=True), _END, _LOOK),
        *(back, _LOOK, _of_node("Start", 2), _LOOK),
    ]
    return Script(seed, "returns", tuple(steps))


RETURNS: Final = (
    _script(-1, _of_node("Kill", 3, is_early=True), _of_node("Start", 3)),
    _script(-2, _of_node("Pause", 3, is_early=True), _of_node("Resume", 3)),
)
"""Their seeds are negative, because none has made them."""
