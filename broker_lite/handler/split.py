"""Split a large request with independent parts into several smaller requests.

In these requests, the answer for one partition, member, group or resource does not depend on the
others. So a request for very many of them may be handled a few at a time, and other connections get
their turn in between. A table says where the parts are in the request and in the response.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Final, NamedTuple, TypeVar

from broker_lite.coordinator.repeats import few_repeats
from broker_lite.wire.structs import Struct

_Value = TypeVar("_Value")
PARTS_AT_A_TIME: Final = 256
"""How many parts are handled before other connections have their turn: they take 1 to 5 ms."""


class Split(NamedTuple):
    """Where the parts are in a request and in its response.

    Attributes:
        asked: the path to the parts in the request, as names of attributes that hold arrays.
        answered: the path to the parts in the response.
        is_distinct: a text that the request names twice counts as one part.
        has_few_repeats: a text that the request names very often counts as ten parts.
        at_a_time: how many parts are handled before other connections have their turn.
    """

    asked: Sequence[str]
    answered: Sequence[str]
    is_distinct: bool = False
    has_few_repeats: bool = False
    at_a_time: int = PARTS_AT_A_TIME


_TOPICS: Final = Split(("topics", "partitions"), ("topics", "partitions"))
_INDEXES: Final = Split(("topics", "partition_indexes"), ("topics", "partitions"))
_GROUP_INDEXES: Final = Split(
    ("groups", "topics", "partition_indexes"), ("groups", "topics", "partitions")
)
_GROUP_IDS: Final = Split(("group_ids",), ("groups",), has_few_repeats=True)
_TRANSACTIONS: Final = Split(("transactions",), ("results_by_transaction",))
_OFFSET_FETCH: Final = 9
_GROUPS_SINCE: Final = 8
_ADD_PARTITIONS: Final = 24
_TRANSACTIONS_SINCE: Final = 4

SPLITS: Final[Mapping[int, Split]] = {
    8: _TOPICS,
    _OFFSET_FETCH: _INDEXES,
    10: Split(("coordinator_keys",), ("coordinators",)),
    13: Split(("members",), ("members",)),
    15: Split(("groups",), ("groups",), has_few_repeats=True),
    21: _TOPICS,
    23: _TOPICS,
    27: Split(("markers", "topics", "partition_indexes"), ("markers", "topics", "partitions")),
    28: _TOPICS,
    42: Split(("groups_names",), ("results",), is_distinct=True),
    43: Split(("topic_partitions", "partitions"), ("replica_election_results", "partition_result")),
    45: Split(("topics", "partitions"), ("responses", "partitions")),
    47: _TOPICS,
    61: _INDEXES,
    65: Split(("transactional_ids",), ("transaction_states",)),
    69: _GROUP_IDS,
    77: _GROUP_IDS,
    89: _GROUP_IDS,
    # each time, a record is written that has all partitions of the group
    91: Split(("topics", "partitions"), ("responses", "partitions"), at_a_time=1024),
}
"""API key to where its parts are. Other APIs have no parts, or answer for all of them together."""


def split_of(api_key: int, version: int) -> Split | None:
    """Return where the parts of a request are, None if it has to be handled whole."""
    if api_key == _OFFSET_FETCH and version >= _GROUPS_SINCE:
        return _GROUP_INDEXES
    if api_key == _ADD_PARTITIONS and version >= _TRANSACTIONS_SINCE:
        return _TRANSACTIONS
    return SPLITS.get(api_key)


def parts(request: _Value, split: Split) -> Iterator[_Value]:
    """Return smaller requests that together ask the same as the request, in the same order."""
    if split.is_distinct or split.has_few_repeats:
        request = copy(request)
        (attribute,) = split.asked
        named = getattr(request, attribute)
        counted = dict.fromkeys(named) if split.is_distinct else few_repeats(named)
        setattr(request, attribute, list(counted))
    return (piece for piece, _ in _pieces(request, split.asked, split.at_a_time))


def _pieces(value: _Value, path: Sequence[str], at_a_time: int) -> Iterator[tuple[_Value, int]]:
    """Yield copies of a struct that hold some of its parts each, with the number of parts."""
    attribute, rest = path[0], path[1:]
    items: list[object] = []
    count = 0
    for item in getattr(value, attribute) or ():
        for piece, weight in _pieces(item, rest, at_a_time) if rest else ((item, 1),):
            if items and count + weight > at_a_time:
                yield _with(value, attribute, items), count
                items, count = [], 0
            items.append(piece)
            count += weight
    if items:
        yield _with(value, attribute, items), count
    elif not getattr(value, attribute):  # empty; or null, which asks for everything
        yield value, 1


def _with(value: _Value, attribute: str, items: list[object]) -> _Value:
    changed = copy(value)
    setattr(changed, attribute, items)
    return changed


def merge(response: Struct, more: Struct, split: Split) -> bool:
    """Add the answers in a later response to those in the earlier one.

    Returns:
        False if that is not possible, because the later response is an error for the whole request.
    """
    if not _is_same(response, more, split.answered[0]):
        return False
    _extend(response, more, split.answered)
    return True


def _extend(value: Struct, more: Struct, path: Sequence[str]) -> None:
    attribute, rest = path[0], path[1:]
    items = getattr(value, attribute)
    for item in getattr(more, attribute):
        if rest and items and _is_same(items[-1], item, rest[0]):
            _extend(items[-1], item, rest)
        else:
            items.append(item)


def _is_same(value: Struct, other: Struct, but: str) -> bool:
    """True if two structs of one type are equal in all fields except `but`."""
    return all(
        getattr(value, name) == getattr(other, name) for name in value.__slots__ if name != but
    )
