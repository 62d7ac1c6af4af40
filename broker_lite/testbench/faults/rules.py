"""The form of a rule, and its checks: selectors, a schedule, and one action.

The names of the fields that `kcl fake` has too (keys, nodes, topic, topic_id, partitions, group,
txn_id, resource, top_level, error, count, observe) mean the same here.
"""

import errno
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, Literal, TypeAlias

import msgspec

from broker_lite.errors import ErrorCode
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.faults.poison.catalogue import POISONS
from broker_lite.testbench.faults.rewrite import CORRELATION_ID, check_rewrite
from broker_lite.testbench.hints import did_you_mean, shortened
from broker_lite.testbench.selectors import PATHS_MAX, Selectors, api_keys

_APPLIED_BY_DEFAULT: Final = frozenset(
    (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
)
_FORMER_NAMES: Final[Mapping[str, str]] = {
    "GROUP_COORDINATOR_NOT_AVAILABLE": "COORDINATOR_NOT_AVAILABLE",
    "GROUP_LOAD_IN_PROGRESS": "COORDINATOR_LOAD_IN_PROGRESS",
    "INVALID_TOPIC": "INVALID_TOPIC_EXCEPTION",
    "NOT_COORDINATOR_FOR_GROUP": "NOT_COORDINATOR",
    "NOT_LEADER_FOR_PARTITION": "NOT_LEADER_OR_FOLLOWER",
    "UNKNOWN": "UNKNOWN_SERVER_ERROR",
}
_OF_CONNECTIONS: Final = frozenset(("nodes", "listener", "client_address"))
_OF_DISK_CALLS: Final = frozenset(("nodes", "topic", "partitions"))
_SELECTORS: Final = Selectors.__struct_fields__
DELAY_MS_MAX: Final = 24 * 3600 * 1000
"""A day; also for delays that are drawn."""
_ERRORS_OF_DISKS: Final = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO}
_SIGMA_MAX: Final = 10  # far more than any network has
_INT32_MAX: Final = 2**31 - 1
_CORRELATION_IDS: Final = range(-(2**31), 2**31)


class Lognormal(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Delays that differ from request to request as those of a network do.

    Attributes:
        median: half of the delays are shorter, in ms.
        sigma: how much they differ; 0.4 makes one in a hundred 2.5 times the median.
        seed: the same seed makes the same delays.
    """

    median: float
    sigma: float
    seed: int | None = None


Delay: TypeAlias = float | Lognormal


class Rule(Selectors, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What the broker does to which requests, and how often.

    Attributes:
        id: a name for the rule; made if it is left out.
        skip: so many matching requests are served first.
        count: on how many requests the rule acts; -1 for all until it is removed, 0 is 1, too.
        every: the rule acts on each so-manieth request.
        probability: of acting on a request, 0 to 1.
        seed: of the probability: the same seed decides the same.
        after: the id of a rule; this one begins when that one is spent or removed.
        for_ms: the rule ends so long after it has begun.
        observe: only count the requests; other rules may act on them.
        error: an error of Kafka by its name or code, for what the selectors choose.
        top_level: the error is that of the whole answer.
        applied: the work is done, and the error is told all the same; it is true by default for
            REQUEST_TIMED_OUT and NOT_ENOUGH_REPLICAS_AFTER_APPEND, and false for other errors.
        hold: keep the request back until it is released.
        drop: close the connection before or after the work is done.
        reset: close it by a reset (RST).
        cut_at: send so many bytes of the answer, then close the connection.
        split: send the answer in pieces of these sizes.
        silence: answer nothing any more on the connection.
        rewrite: fields of the answer and their values.
        poison: spoil the records of a Fetch answer, see poison.catalogue.
        accept: what becomes of a client that connects.
        disk: which call fails or is slow: the write of a batch, or an fsync of a file with batches.
        errno: with disk, the error of the call; ENOSPC for a write, EIO for an fsync that has no
            delay_ms.
        room_bytes: with disk, the part of the batch that is written before the error comes; a
            batch that is no larger is written.
        delay_ms: how long the answer is kept back once it is there, or how long the fsync takes.
        throttle_ms: the throttle time that the answer tells.
    """

    id: str | None = None
    skip: int = 0
    count: int = 1
    every: int = 1
    probability: float | None = None
    seed: int | None = None
    after: str | None = None
    for_ms: float | None = None
    observe: bool = False
    error: str | int | None = None
    top_level: bool = False
    applied: bool | None = None
    hold: bool = False
    drop: Literal["before", "after"] | None = None
    reset: bool = False
    cut_at: int | None = None
    split: list[int] | None = None
    silence: bool = False
    rewrite: dict[str, Any] | None = None
    poison: str | None = None
    accept: Literal["refuse", "hang", "reset"] | None = None
    disk: Literal["write", "fsync"] | None = None
    errno: Literal["ENOSPC", "EIO"] | None = None
    room_bytes: int | None = None
    delay_ms: float | Lognormal | None = None
    throttle_ms: int | None = None

    @property
    def action(self) -> str:
        """The name of its action; "delay" if there is none but delay_ms or throttle_ms."""
        return next(actions_of(self), "delay")

    @property
    def error_code(self) -> ErrorCode | None:
        """The code of its error; None if it has none, or there is no such error."""
        return None if self.error is None else _code_of(self.error)

    @property
    def is_of_requests(self) -> bool:
        """True if it acts on requests, not on clients that connect or on calls of the disk."""
        return self.accept is None and self.disk is None

    @property
    def disk_error(self) -> int | None:
        """The number of the error of a call of the disk; None if the call is only slow."""
        if self.errno is not None:
            return _ERRORS_OF_DISKS[self.errno]
        if self.disk == "write":
            return errno.ENOSPC
        return errno.EIO if self.delay_ms is None else None

    @property
    def is_applied(self) -> bool:
        """True if the work is done before the error is told."""
        if self.applied is not None:
            return self.applied
        return self.error_code in _APPLIED_BY_DEFAULT

    @property
    def is_conditional(self) -> bool:
        """True if only the answer tells whether there is something to change."""
        changes = self.rewrite is not None or self.poison is not None
        return changes or (self.throttle_ms is not None and self.action == "delay")

    @property
    def may_wait(self) -> bool:
        """True if a request may wait for longer than its handler does."""
        return self.hold or self.silence or self.delay_ms is not None


def _code_of(error: str | int) -> ErrorCode | None:
    """Return the error of a name in any case, also of one that Kafka had before, or of a code."""
    text = str(error).upper()
    code = ErrorCode.__members__.get(_FORMER_NAMES.get(text, text))
    if code is None:
        with suppress(ValueError):
            code = ErrorCode(int(text))
    return None if code is ErrorCode.NONE else code


def actions_of(rule: Rule) -> Iterator[str]:
    """Yield the name of each action that a rule has; a right one has one at most."""
    for name in ("observe", "hold", "silence"):
        if getattr(rule, name):
            yield name
    for name in ("error", "drop", "cut_at", "split", "rewrite", "poison", "accept", "disk"):
        if getattr(rule, name) is not None:
            yield name


def check_rule(rule: Rule, at: str) -> None:
    """Check what the types of the fields do not say.

    Args:
        rule: to be checked.
        at: its place in what the caller sent, as "rules[0]".

    Raises:
        ControlError: the rule is wrong; the error names the place.
    """
    for name, problem in _problems(rule):
        raise ControlError(400, problem, f"{at}.{name}" if name else at)
    if rule.rewrite is not None:
        keys = api_keys(rule.keys, f"{at}.keys")
        for path, value in rule.rewrite.items():
            if path != CORRELATION_ID:
                check_rewrite(path, value, keys, f"{at}.rewrite[{path!r}]")


def _problems(rule: Rule) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a rule: the field, and the problem in words."""
    actions = list(actions_of(rule))
    if len(actions) > 1:
        yield actions[1], f"a rule has one action, but this one has {' and '.join(actions)}"
    if not actions and rule.delay_ms is None and rule.throttle_ms is None:
        yield "", "the rule has no action: give observe, error, hold, drop, delay_ms, ..."
    yield from _wrong_schedule(rule)
    yield from _wrong_action(rule)
    yield from _wrong_disk(rule)
    if rule.accept is not None:
        for name in _SELECTORS:
            if getattr(rule, name) is not None and name not in _OF_CONNECTIONS:
                yield name, "a client that connects has told nothing of this kind yet"
        for name in ("delay_ms", "throttle_ms"):
            if getattr(rule, name) is not None:
                yield name, "it delays answers, and a client that connects gets none"


def _wrong_schedule(rule: Rule) -> Iterator[tuple[str, str]]:
    if rule.skip < 0:
        yield "skip", "it is 0 or more"
    if rule.count < -1:
        yield "count", "it is 1 or more, or -1 for all until the rule is removed"
    if rule.every < 1:
        yield "every", "it is 1 or more"
    if rule.probability is not None and not 0 <= rule.probability <= 1:
        yield "probability", "it is between 0 and 1"
    if rule.for_ms is not None and rule.for_ms <= 0:
        yield "for_ms", "it is more than 0"


def _wrong_action(rule: Rule) -> Iterator[tuple[str, str]]:
    if rule.error is not None and rule.error_code is None:
        like = did_you_mean(str(rule.error), ErrorCode.__members__)
        yield "error", f"there is no error {shortened(rule.error)!r}{like}"
    for name in ("top_level", "applied"):
        if getattr(rule, name) and rule.error is None:
            yield name, "it belongs to an error"
    if rule.reset and rule.drop is None:
        yield "reset", "it belongs to drop"
    if rule.cut_at is not None and rule.cut_at < 0:
        yield "cut_at", "it is 0 or more"
    if rule.split is not None and (not rule.split or min(rule.split) < 1):
        yield "split", "it is a list of sizes, each 1 or more"
    if rule.poison is not None and rule.poison not in POISONS:
        like = did_you_mean(rule.poison, POISONS)
        yield "poison", f"there is no poison {shortened(rule.poison)!r}{like}"
    correlation_id = (rule.rewrite or {}).get(CORRELATION_ID, 0)
    if type(correlation_id) is not int or correlation_id not in _CORRELATION_IDS:
        yield "rewrite", "correlation_id is a number of 32 bits"
    if rule.rewrite is not None and not 0 < len(rule.rewrite) <= PATHS_MAX:
        yield "rewrite", f"it names 1 to {PATHS_MAX} fields"
    yield from _without_answer(rule)
    yield from _wrong_times(rule)


def _without_answer(rule: Rule) -> Iterator[tuple[str, str]]:
    """Yield what belongs to an answer, where an action leaves it as it is or there is none."""
    whys = {
        "observe": ("it only counts", ("delay_ms", "throttle_ms")),
        "silence": ("there is no answer", ("delay_ms", "throttle_ms")),
        "drop": ("there is no answer", ("throttle_ms",)),
    }
    why, names = whys.get(rule.action, ("", ()))
    for name in names:
        if getattr(rule, name) is not None:
            yield name, f"it does not go with {rule.action}: {why}"


def _wrong_disk(rule: Rule) -> Iterator[tuple[str, str]]:
    if rule.disk is None:
        for name in ("errno", "room_bytes"):
            if getattr(rule, name) is not None:
                yield name, "it belongs to disk"
        return
    for name in _SELECTORS:
        if getattr(rule, name) is not None and name not in _OF_DISK_CALLS:
            yield name, "a call of the disk knows nothing of requests"
    if rule.room_bytes is not None and rule.disk == "fsync":
        yield "room_bytes", "it belongs to a write"
    if rule.room_bytes is not None and rule.room_bytes < 1:
        yield "room_bytes", "it is 1 or more"
    if rule.delay_ms is not None and rule.disk == "write":
        yield "delay_ms", "a slow write would hold up all clients: delay the answer to Produce"
    if rule.throttle_ms is not None:
        yield "throttle_ms", "a call of the disk has no answer"


def _wrong_times(rule: Rule) -> Iterator[tuple[str, str]]:
    delay = rule.delay_ms
    if isinstance(delay, Lognormal):
        if not 0 <= delay.median <= DELAY_MS_MAX:
            yield "delay_ms.median", "it is between 0 and a day"
        if not 0 <= delay.sigma <= _SIGMA_MAX:
            yield "delay_ms.sigma", f"it is between 0 and {_SIGMA_MAX}"
    elif delay is not None and not 0 <= delay <= DELAY_MS_MAX:
        yield "delay_ms", "it is between 0 and a day"
    if rule.throttle_ms is not None and not 0 <= rule.throttle_ms <= _INT32_MAX:
        yield "throttle_ms", "it is 0 or more"
