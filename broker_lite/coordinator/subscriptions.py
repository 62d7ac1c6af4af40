"""Subscriptions by regular expression, in RE2's syntax as in Kafka.

RE2 takes time in proportion to the compiled pattern times the name, whatever the pattern is, and
its memory has a bound; backreferences and lookaround, which would break that, are not in its
syntax. A few hundred characters can still make a pattern that takes 0.3 s a name, so patterns are
also held against how many names there are. The library is loaded by the first pattern that is
used, as most brokers never see one.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from broker_lite.errors import InvalidRegularExpression

# RE2's own default, here because it is what makes a hostile pattern harmless
_PATTERN_MEMORY_BYTES: Final = 8 << 20
# Instructions of the pattern times characters of all names: 0.3 s or less, at 5 to 10 ns measured
# for each in the worst case. Usual patterns have tens of instructions, which does for 40,000 names
# of 30 characters, and take 100 times less for each.
_WORK_MAX: Final = 30_000_000
# What a name costs besides, and compiling a small pattern, in the same measure.
_WORK_PER_NAME: Final = 500
_WORK_TO_COMPILE: Final = 20_000
# the longest text that the key of its record can hold
_PATTERN_BYTES_MAX: Final = 32_767


class Matching(NamedTuple):
    """What a pattern matched.

    Attributes:
        names: sorted.
        work: about how much it took, in instructions of patterns times characters.
    """

    names: tuple[str, ...]
    work: int


def check_regex(pattern: str, names: Iterable[str]) -> None:
    """Make sure that a pattern is one, and can be matched against these names.

    Raises:
        InvalidRegularExpression: it is not in RE2's syntax, or too large.
    """
    _check_work(pattern, _compile(pattern), list(names))


def matching_names(pattern: str, names: Iterable[str]) -> tuple[str, ...]:
    """The names that a pattern matches as a whole, sorted.

    Raises:
        InvalidRegularExpression: see check_regex.
    """
    return match(pattern, names).names


def match(pattern: str, names: Iterable[str]) -> Matching:
    """The names that a pattern matches as a whole.

    Raises:
        InvalidRegularExpression: see check_regex.

    Rule: G-100 (TopicRegexResolver).
    """
    compiled = _compile(pattern)
    names = list(names)
    work = _check_work(pattern, compiled, names)
    matched = tuple(sorted(name for name in names if compiled.fullmatch(name) is not None))
    return Matching(matched, work + _WORK_PER_NAME * len(names) + _WORK_TO_COMPILE)


def _check_work(pattern: str, compiled: Any, names: list[str]) -> int:
    work: int = compiled.programsize * sum(map(len, names))
    if work > _WORK_MAX:
        raise InvalidRegularExpression(
            f"SubscribedTopicRegex `{pattern}` is too large to be matched with {len(names)} topics."
        )
    return work


def _compile(pattern: str) -> Any:
    encoded = pattern.encode(errors="replace")
    if len(encoded) > _PATTERN_BYTES_MAX:
        raise InvalidRegularExpression(
            f"SubscribedTopicRegex has more than {_PATTERN_BYTES_MAX} bytes."
        )
    import re2  # most brokers never need it

    options = re2.Options()
    options.max_mem = _PATTERN_MEMORY_BYTES
    options.log_errors = False
    options.never_capture = True
    try:
        return re2.compile(encoded, options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace")
        raise InvalidRegularExpression(
            f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: {reason}."
        ) from None
    finally:
        re2.purge()  # its cache would keep the memory of 128 patterns
