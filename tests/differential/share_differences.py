"""Where share groups of broker-lite answer otherwise than those of Kafka 4.3.1, and why."""

from collections.abc import Collection
from typing import Any, Final

Step = tuple[str, tuple[Any, ...]]

_REFUSED: Final = (42, 121)
_PAIR: Final = 2
_TAKEN: Final = 3

AFTER_ABORT: Final = (
    "K-19: The start offset moves behind the records of an aborted transaction at once. In Kafka "
    "they stay in flight until the next change. So until then DescribeShareGroupOffsets tells a "
    "later start here, with the same lag. An acknowledgement of records that the member does not "
    "have is refused by both, but what is in flight before them decides whether with 42 or 121, "
    "and with which text."
)


def known_difference(
    steps: Collection[Step], isolation_level: str | None, kafka: Any, ours: Any
) -> str | None:
    """Return the reason why the answers to a step differ, None if it is not known.

    Args:
        steps: all steps so far; the last one is that of the answers.
        isolation_level: of the group; None for the default.
        kafka: what Kafka answered.
        ours: what broker-lite answered.
    """
    has_aborted = any(name == "transact" and "abort" in arguments for name, arguments in steps)
    if isolation_level == "read_committed" and has_aborted:
        *_, (name, _) = steps
        if name == "describe":
            return AFTER_ABORT if _starts_later(kafka, ours) else None
        if _without_reasons(kafka) == _without_reasons(ours):
            return AFTER_ABORT
    return None


def _starts_later(kafka: Any, ours: Any) -> bool:
    """Return whether no topic starts earlier here than in Kafka, and all have the same lag."""
    return bool(
        kafka.keys() == ours.keys()
        and all(
            kafka[topic][1] == lag and kafka[topic][0] <= start
            for topic, (start, lag) in ours.items()
        )
    )


def _without_reasons(answer: Any) -> Any:
    """Return an answer in which each refused acknowledgement is refused for the same reason.

    An acknowledgement is answered as (error, text), or between the error and the acquired records
    of a topic.
    """
    if isinstance(answer, dict):
        return {key: _without_reasons(each) for key, each in answer.items()}
    if isinstance(answer, tuple) and len(answer) == _PAIR and answer[0] in _REFUSED:
        return "refused"
    if isinstance(answer, tuple) and len(answer) == _TAKEN and answer[1] in _REFUSED:
        return (answer[0], "refused", answer[2]) if isinstance(answer[2], list) else answer
    if isinstance(answer, list | tuple):
        return [_without_reasons(each) for each in answer]
    return answer
