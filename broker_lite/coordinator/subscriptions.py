"""Subscriptions by regular expression, in RE2's syntax as in Kafka.

RE2 takes time in proportion to the compiled pattern times the name, whatever the pattern is, and
its memory has a bound; backreferences and lookaround, which would break that, are not in its
syntax. A few hundred characters can still make a pattern that takes 0.3 s a name, so patterns are
also held against how many names there are. What takes long is done by a thread, before the
heartbeat that needs it. The library is loaded by the first pattern that is used, as most brokers
never see one.

A difference to Kafka: a regular expression with more than 128 Unicode classes or more than 128
optional parts is refused, because RE2 may take seconds to compile it and cannot be interrupted.
"""

import re
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, Protocol

from broker_lite.errors import InvalidRegularExpression

# A quarter of RE2's own default: to compile a pattern takes 40 ms at the most, in which no other
# thread of the interpreter goes on, also not the event loop's.
_PATTERN_MEMORY_BYTES: Final = 2 << 20
# What takes RE2 long within that memory: a Unicode class takes 0.3 ms, and n optional parts in a
# row take n * n * 2 ns, in each of the copies that a repetition makes.
_COSTLY_PARTS_MAX: Final = 128
_UNICODE_CLASS: Final = re.compile(rb"\\[pP]")
_OPTIONAL_PART: Final = re.compile(rb"(?<!\()\?|\{0")
# Instructions of the pattern times characters of all names: 0.3 s or less, at 5 to 10 ns measured
# for each in the worst case. Usual patterns have tens of instructions, which does for 40,000 names
# of 30 characters, and take 100 times less for each.
_WORK_MAX: Final = 30_000_000
# What a name costs besides, and compiling a small pattern, in the same measure.
_WORK_PER_NAME: Final = 500
_WORK_TO_COMPILE: Final = 20_000
# 10 ms in the worst case; more than this is for a thread.
_WORK_IN_PASSING: Final = 1_000_000
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


class _Pattern(Protocol):
    """A compiled pattern of RE2."""

    @property
    def programsize(self) -> int:
        """How many instructions it has."""

    def fullmatch(self, text: str) -> object | None:
        """Match a whole text; None if it does not match."""


class Prepared:
    """A compiled pattern, and those of the names that it is known to match.

    Attributes:
        work: how much it takes to match all names.
    """

    __slots__ = ("_compiled", "_error", "_known", "_matched", "_names", "work")

    def __init__(self, pattern: str, names: Iterable[str]) -> None:
        """Compile a pattern; one that cannot be used says so when it is asked for its names.

        Args:
            pattern: in RE2's syntax.
            names: those of the moment.
        """
        self._names = list(names)
        self._known: set[str] = set()
        self._matched: list[str] = []
        # its text: the error itself would refer to this object, and both to all names
        self._error: str | None = None
        self._compiled: _Pattern | None = None
        self.work = _WORK_TO_COMPILE
        try:
            self._compiled = _compile(pattern)
            self.work += _check_work(pattern, self._compiled, self._names)
        except InvalidRegularExpression as error:
            self._error = error.message
        else:
            self.work += _WORK_PER_NAME * len(self._names)

    @property
    def is_heavy(self) -> bool:
        """Whether a thread should match the names."""
        return self._error is None and self.work > _WORK_IN_PASSING

    def match_names(self, is_stopped: Callable[[], bool]) -> bool:
        """Match all names, which may take 0.3 s.

        Returns:
            False when it was stopped.
        """
        assert self._compiled is not None, "one that cannot be used is not heavy"
        fullmatch = self._compiled.fullmatch
        matched = []
        for name in self._names:
            if is_stopped():
                return False
            if fullmatch(name) is not None:
                matched.append(name)
        self._matched = sorted(matched)
        self._known = set(self._names)
        return True

    def matching(self, names: Iterable[str]) -> Matching:
        """Those of the names of this moment that the pattern matches as a whole.

        Raises:
            InvalidRegularExpression: it is not in RE2's syntax, or too large.

        Rule: G-100 (TopicRegexResolver).
        """
        self.check()
        assert self._compiled is not None, "check() raises then"
        there = set(names)
        matched = [name for name in self._matched if name in there]
        fullmatch = self._compiled.fullmatch
        matched += [name for name in there - self._known if fullmatch(name) is not None]
        matched.sort()
        return Matching(tuple(matched), self.work)

    def check(self) -> None:
        """Make sure that the pattern is one, and can be matched against the names.

        Raises:
            InvalidRegularExpression: see matching().
        """
        if self._error is not None:
            raise InvalidRegularExpression(self._error)


def matching_names(pattern: str, names: Iterable[str]) -> tuple[str, ...]:
    """The names that a pattern matches as a whole, sorted.

    Raises:
        InvalidRegularExpression: see Prepared.matching().
    """
    names = list(names)
    return Prepared(pattern, names).matching(names).names


def _check_work(pattern: str, compiled: _Pattern, names: list[str]) -> int:
    work = compiled.programsize * sum(map(len, names))
    if work > _WORK_MAX:
        raise InvalidRegularExpression(
            f"SubscribedTopicRegex `{pattern}` is too large to be matched with {len(names)} topics."
        )
    return work


def _compile(pattern: str) -> _Pattern:
    encoded = pattern.encode(errors="replace")
    if len(encoded) > _PATTERN_BYTES_MAX:
        raise InvalidRegularExpression(
            f"SubscribedTopicRegex has more than {_PATTERN_BYTES_MAX} bytes."
        )
    for costly in (_UNICODE_CLASS, _OPTIONAL_PART):
        if len(costly.findall(encoded)) > _COSTLY_PARTS_MAX:
            raise InvalidRegularExpression(
                f"SubscribedTopicRegex has more than {_COSTLY_PARTS_MAX} Unicode classes or "
                "optional parts."
            )
    import re2  # most brokers never need it

    options = re2.Options()
    options.max_mem = _PATTERN_MEMORY_BYTES
    options.log_errors = False
    options.never_capture = True
    try:
        compiled: _Pattern = re2.compile(encoded, options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace")
        raise InvalidRegularExpression(
            f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: {reason}."
        ) from None
    finally:
        re2.purge()  # its cache would keep the memory of 128 patterns
    return compiled
