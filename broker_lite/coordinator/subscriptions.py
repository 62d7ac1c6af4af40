"""Subscriptions by regular expression, in RE2's syntax as in Kafka.

RE2's time is proportional to the size of the compiled pattern times the length of the name, for
every pattern, and its memory is bounded. Its syntax has no backreferences and no lookaround, which
would break that. A few hundred characters can still make a pattern that takes 0.3 s per name. So
the size of a pattern is also limited by the number of names. A match that takes long runs in a
thread, before the heartbeat that needs it. The first pattern loads the library, because most
brokers never use one.

A difference to Kafka: a regular expression with more than 128 Unicode classes or more than 128
optional parts is refused, because RE2 may take seconds to compile it and cannot be interrupted.
"""

import re
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, Protocol

from broker_lite.errors import InvalidRegularExpression

# A quarter of RE2's own default: compiling a pattern takes 40 ms at most. Meanwhile no other thread
# of the interpreter can run, not even the event loop's.
_PATTERN_MEMORY_BYTES: Final = 2 << 20
# These parts take RE2 long to compile even within that memory: a Unicode class takes 0.3 ms, and n
# optional parts in a row take n * n * 2 ns, in each of the copies that a repetition makes.
_COSTLY_PARTS_MAX: Final = 128
_UNICODE_CLASS: Final = re.compile(rb"\\[pP]")
_OPTIONAL_PART: Final = re.compile(rb"(?<!\()\?|\{0")
# Work is the number of instructions of the pattern times the number of characters of all names.
# This much takes 0.3 s or less: in the worst case, 5 to 10 ns were measured per unit. Usual
# patterns have tens of instructions, so the limit is enough for 40,000 names of 30 characters, and
# they take 100 times less per unit.
_WORK_MAX: Final = 30_000_000
# The extra work per name, and that of compiling a small pattern, in the same unit.
_WORK_PER_NAME: Final = 500
_WORK_TO_COMPILE: Final = 20_000
# This takes 10 ms in the worst case; more work than this runs in a thread.
_WORK_IN_PASSING: Final = 1_000_000
# the longest pattern that fits into the key of its record
_PATTERN_BYTES_MAX: Final = 32_767


class Matching(NamedTuple):
    """The names that a pattern matched.

    Attributes:
        names: sorted.
        work: roughly how much work it was, in instructions of the pattern times characters.
    """

    names: tuple[str, ...]
    work: int


class Pattern(Protocol):
    """A compiled pattern of RE2."""

    @property
    def programsize(self) -> int:
        """The number of its instructions."""

    def fullmatch(self, text: str) -> object | None:
        """Match a whole text; None if it does not match."""


class Prepared:
    """A compiled pattern, and the names that are already known to match.

    Attributes:
        work: how much work it is to match all names.
    """

    __slots__ = ("_compiled", "_error", "_known", "_matched", "_names", "work")

    def __init__(self, pattern: str, names: Iterable[str]) -> None:
        """Compile a pattern; if it is invalid, check() and matching() raise the error.

        Args:
            pattern: in RE2's syntax.
            names: all current names.
        """
        self._names = list(names)
        self._known: set[str] = set()
        self._matched: list[str] = []
        # only the error's text: the exception would refer to this object and keep all names alive
        self._error: str | None = None
        self._compiled: Pattern | None = None
        self.work = _WORK_TO_COMPILE
        try:
            self._compiled = compile_pattern(pattern)
            self.work += _check_work(pattern, self._compiled, self._names)
        except InvalidRegularExpression as error:
            self._error = error.message
        else:
            self.work += _WORK_PER_NAME * len(self._names)

    @property
    def is_heavy(self) -> bool:
        """Whether matching the names should run in a thread."""
        return self._error is None and self.work > _WORK_IN_PASSING

    @property
    def matched(self) -> list[str]:
        """The names that match_names() has found, sorted."""
        return self._matched

    def match_names(self, is_stopped: Callable[[], bool]) -> bool:
        """Match all names, which may take 0.3 s.

        Args:
            is_stopped: asked before each name.

        Returns:
            False if it was stopped.
        """
        assert self._compiled is not None, "an invalid pattern is not heavy"
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
        """Return those of the current names that the pattern matches as a whole.

        Raises:
            InvalidRegularExpression: the pattern is not in RE2's syntax, or too large.

        Rule: G-100 (TopicRegexResolver).
        """
        self.check()
        assert self._compiled is not None, "otherwise check() raises"
        there = set(names)
        matched = [name for name in self._matched if name in there]
        fullmatch = self._compiled.fullmatch
        matched += [name for name in there - self._known if fullmatch(name) is not None]
        matched.sort()
        return Matching(tuple(matched), self.work)

    def check(self) -> None:
        """Make sure that the pattern is valid, and small enough for the number of names.

        Raises:
            InvalidRegularExpression: see matching().
        """
        if self._error is not None:
            raise InvalidRegularExpression(self._error)


def matching_names(pattern: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names that a pattern matches as a whole, sorted.

    Raises:
        InvalidRegularExpression: see Prepared.matching().
    """
    names = list(names)
    return Prepared(pattern, names).matching(names).names


def _check_work(pattern: str, compiled: Pattern, names: list[str]) -> int:
    work = compiled.programsize * sum(map(len, names))
    if work > _WORK_MAX:
        raise InvalidRegularExpression(
            f"SubscribedTopicRegex `{pattern}` is too large to be matched with {len(names)} topics."
        )
    return work


def compile_pattern(pattern: str) -> Pattern:
    """Compile a pattern of RE2, in bounded time and memory.

    Raises:
        InvalidRegularExpression: it is not in RE2's syntax, or too large.
    """
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
    import re2  # here, because most brokers never need it

    options = re2.Options()
    options.max_mem = _PATTERN_MEMORY_BYTES
    options.log_errors = False
    options.never_capture = True
    try:
        compiled: Pattern = re2.compile(encoded, options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace")
        raise InvalidRegularExpression(
            f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: {reason}."
        ) from None
    finally:
        re2.purge()  # the library's cache would keep up to 128 patterns in memory
    return compiled
