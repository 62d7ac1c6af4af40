"""Random steps that may differ once, because a busy machine lets a Kafka notice something late.

A Kafka's coordinators learn of topics, of ended sessions and of written records some time after its
answers tell of them. How long that takes is not told. A difference of rules comes each time.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

TRIES: Final = 3

Run = Callable[[Sequence[int], Path], Mapping[int, Sequence[str]]]
"""Compares seeds, with a folder for the data of the brokers; returns what differs, by seed."""


def until_equal(run: Run, seeds: Sequence[int], folder: Path) -> list[str]:
    """Compare seeds, and those that differ again with new brokers; return what differs each time.

    Args:
        run: compares seeds.
        seeds: of the steps.
        folder: for the data of all brokers.
    """
    different: Mapping[int, Sequence[str]] = {}
    for number in range(TRIES):
        different = run(seeds, folder / str(number))
        if not different:
            break
        seeds = list(different)
    return [line for lines in different.values() for line in lines]
