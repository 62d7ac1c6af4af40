"""Random steps of many seeds, compared at a time; what differs is told at once."""

import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

Compare = Callable[[int], list[str]]
"""Sends the steps of a seed to two brokers; returns what differs; none if all is equal."""


def compare_seeds(compare: Compare, seeds: Sequence[int], jobs: int = 1) -> Mapping[int, list[str]]:
    """Compare seeds; return what differs, by seed.

    Each difference is printed to standard error when it is found, so that a long run can be read
    before its end.

    Args:
        compare: compares one seed; it runs in a thread.
        seeds: of the steps.
        jobs: how many seeds are compared at a time; most of the time is spent waiting.
    """
    different = {}
    with ThreadPoolExecutor(jobs) as pool:
        for seed, lines in zip(seeds, pool.map(compare, seeds), strict=True):
            if lines:
                different[seed] = lines
                print("\n".join(lines), end="\n\n", file=sys.stderr, flush=True)
    return different
