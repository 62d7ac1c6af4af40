"""What the elements of a request or an answer name, for the rules that choose some of them."""

from collections.abc import Callable
from typing import Final

from broker_lite.errors import ErrorCode
from broker_lite.handler.error_places import Level
from broker_lite.testbench.selectors import Named

PARTS_FIRST: Final = frozenset((1, 3, 24))
"""APIs of which an error without top_level is that of each partition or topic.

Their answers have an error of the whole, too, but only few errors are told there.
"""

OF_THE_WHOLE: Final = frozenset(
    (
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
        ErrorCode.REBOOTSTRAP_REQUIRED,
    )
)
"""Errors that are always those of the whole answer."""


def named_by(
    level: Level, above: Named, key: tuple[object, ...], name_of: Callable[[bytes], str]
) -> Named:
    """Return what an element names, together with what the levels above it name.

    Args:
        level: of the element.
        above: what the levels above it name.
        key: the values that name the element.
        name_of: returns the name of a topic by its id, empty if it is not known.
    """
    first = key[0] if key else None
    if level.kind == "topic":
        topic_id = key[1] if len(key) > 1 and isinstance(key[1], bytes) else b""
        name = first if isinstance(first, str) and first else name_of(topic_id)
        return above._replace(topic=name, topic_id=topic_id)
    if level.kind == "partition" and isinstance(first, int):
        return above._replace(partition=first)
    if level.kind in ("group", "coordinator") and isinstance(first, str):
        above = above._replace(group=first)
    if level.kind in ("txn", "coordinator") and isinstance(first, str):
        above = above._replace(txn_id=first)
    if level.kind == "quota":
        return above._replace(resource=_name_of_quota(first))
    if level.kind == "resource":
        names = [each for each in key if isinstance(each, str) and each]
        return above._replace(resource=names[-1] if names else "")
    return above


def _name_of_quota(entity: object) -> str:
    """Return the first name of a quota's entity; empty for that of all users, or all clients."""
    parts = entity if isinstance(entity, list) else []
    return next((part.entity_name for part in parts if part.entity_name), "")
