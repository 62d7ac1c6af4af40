"""Requests that name the same group again and again.

Kafka answers each time. That lets a request of a few kilobytes ask for gigabytes, and no client
sends such a thing, so what is large is repeated only a few times here; the rest is left out.
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
    """Each one in its place, but only so many times.

    Args:
        asked: what a request names.
        group_of: the group that it is about; None for what may be there as often as it likes.
    """
    seen: Counter[str] = Counter()
    for one in asked:
        group_id = group_of(one)
        if group_id is not None:
            seen[group_id] += 1
            if seen[group_id] > _REPEATS_MAX:
                continue
        yield one
