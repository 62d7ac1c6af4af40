"""Limits how often one request may name the same group.

Kafka answers for every repetition, so a request of a few kilobytes can ask for gigabytes. No client
sends such a request. So a large answer is repeated only a few times here; the rest is left out.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

One = TypeVar("One")

_REPEATS_MAX: Final = 10


def _itself(one: object) -> str:
    return str(one)


def few_repeats(
    asked: Iterable[One], group_of: Callable[[One], str | None] = _itself
) -> Iterator[One]:
    """Iterate over the entries of a request, without those that repeat a group too often.

    Args:
        asked: the entries of the request.
        group_of: returns the group id of an entry; None if the entry may be repeated without limit.
    """
    seen: Counter[str] = Counter()
    for one in asked:
        group_id = group_of(one)
        if group_id is not None:
            seen[group_id] += 1
            if seen[group_id] > _REPEATS_MAX:
                continue
        yield one
