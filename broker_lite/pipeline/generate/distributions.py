"""Distributions of sizes and keys, as tables of quantiles for the compiled record generator.

A distribution is a number (a constant) or a table that names the distribution:

    {distribution = "uniform", min = 10, max = 1000}
    {distribution = "normal", mean = 500, deviation = 100}
    {distribution = "lognormal", median = 300, sigma = 1.0, max = 100000}
    {distribution = "zipf", count = 100000, exponent = 1.1}      of the numbers below count
"""

import math
from array import array
from collections.abc import Callable, Mapping
from itertools import pairwise
from statistics import NormalDist
from typing import Final

TABLE_STEPS: Final = 1024
NUMBER_MAX: Final = (1 << 31) - 1

Table = Mapping[str, object]
Quantile = Callable[[float], float]


class SpecError(ValueError):
    """A specification cannot be used; the text is one line for the user."""


def quantiles(spec: object) -> memoryview:
    """Return the quantiles of a distribution: 1025 rising numbers.

    Raises:
        SpecError: the distribution is unknown, or its numbers are wrong.
    """
    if isinstance(spec, int) and not isinstance(spec, bool):
        return _table(lambda share: float(_checked(spec)))
    if not isinstance(spec, Mapping) or spec.get("distribution") not in _DISTRIBUTIONS:
        names = ", ".join(_DISTRIBUTIONS)
        raise SpecError(f"{spec!r}: a whole number, or a table with distribution = {names}")
    needed, make = _DISTRIBUTIONS[str(spec["distribution"])]
    numbers = {name: value for name, value in spec.items() if name != "distribution"}
    allowed = {*needed, "max"}
    if not needed <= numbers.keys() <= allowed:
        raise SpecError(f"{spec!r}: {', '.join(sorted(needed))} are needed, max is allowed")
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise SpecError(f"{name} = {value!r}: a number, 0 or more, is needed")
    return _table(make({name: float(str(value)) for name, value in numbers.items()}))


def mean_of(table: memoryview) -> float:
    """Return the mean of a table."""
    halves = ((low + max(high - 1, low)) / 2 for low, high in pairwise(table))
    return sum(halves) / TABLE_STEPS


def _table(quantile: Quantile) -> memoryview:
    """Tabulate a quantile function, which maps a share from 0 to 1 to a number."""
    numbers = array("q")
    for step in range(TABLE_STEPS + 1):
        number = math.floor(quantile(step / TABLE_STEPS))
        numbers.append(min(max(number, numbers[-1] if numbers else 0), NUMBER_MAX))
    return memoryview(numbers)


def _checked(number: int) -> int:
    if not 0 <= number <= NUMBER_MAX:
        raise SpecError(f"{number}: a number from 0 to {NUMBER_MAX} is needed")
    return number


def _uniform(numbers: Mapping[str, float]) -> Quantile:
    low, high = numbers["min"], numbers["max"]
    if high < low:
        raise SpecError(f"max = {high:g} is below min = {low:g}")
    return lambda share: low + (high + 1 - low) * share


def _normal(numbers: Mapping[str, float]) -> Quantile:
    return _bell(numbers, lambda deviations: numbers["mean"] + numbers["deviation"] * deviations)


def _lognormal(numbers: Mapping[str, float]) -> Quantile:
    return _bell(
        numbers, lambda deviations: numbers["median"] * math.exp(numbers["sigma"] * deviations)
    )


def _bell(numbers: Mapping[str, float], of_deviations: Callable[[float], float]) -> Quantile:
    """Stay half a step away from 0 and 1, where a normal distribution is infinite."""
    most = numbers.get("max", float(NUMBER_MAX))
    edge = 0.5 / TABLE_STEPS
    inverse = NormalDist().inv_cdf
    return lambda share: min(of_deviations(inverse(min(max(share, edge), 1 - edge))), most)


def _zipf(numbers: Mapping[str, float]) -> Quantile:
    count, power = numbers["count"], 1 - numbers["exponent"]
    if not 1 <= count <= NUMBER_MAX:
        raise SpecError(f"count = {count:g}: a number from 1 to {NUMBER_MAX} is needed")
    if abs(power) < 1e-9:
        return lambda share: math.exp(share * math.log(count + 1)) - 1
    whole = (count + 1) ** power - 1
    return lambda share: (1 + share * whole) ** (1 / power) - 1


_DISTRIBUTIONS: Final[
    Mapping[str, tuple[frozenset[str], Callable[[Mapping[str, float]], Quantile]]]
] = {
    "uniform": (frozenset({"min", "max"}), _uniform),
    "normal": (frozenset({"mean", "deviation"}), _normal),
    "lognormal": (frozenset({"median", "sigma"}), _lognormal),
    "zipf": (frozenset({"count", "exponent"}), _zipf),
}
