"""Checks a script before it runs: what is wrong is told with its place."""

import hashlib
from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

import msgspec

from broker_lite.errors import SettingsError
from broker_lite.seed.fields import FieldError, SeedRecord, make_record
from broker_lite.seed.topic_spec import TopicSpec, parse_spec
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.faults.engine import Decision, Faults
from broker_lite.testbench.faults.rules import Lognormal, Rule
from broker_lite.testbench.hints import did_you_mean
from broker_lite.testbench.scripts.form import Do, Expectation, Record, Script, Step, When
from broker_lite.testbench.selectors import Matcher, api_keys

Check = Callable[[str, str, bytes], None]
"""Checks method, path and body of a request without carrying it out; raises ControlError."""

STEPS_MAX: Final = 1000
EXPECTED_MAX: Final = 10_000
RECORDS_MAX: Final = 10_000
GROUPS_MAX: Final = 1000
DECISIONS_MAX: Final = 100_000
_SEED_BYTES: Final = 4
_COUNT_MAX: Final = 10_000
_DAY_MS: Final = 24 * 3600 * 1000


class Prepared(NamedTuple):
    """A script that can run.

    Attributes:
        script: with its seed, and with an id and a seed for each rule.
        topics: that it needs.
        records: that are written to them.
        decisions: of the run that is repeated; None for a run of its own.
    """

    script: Script
    topics: Sequence[TopicSpec]
    records: Sequence[SeedRecord]
    decisions: Sequence[Decision] | None = None


def prepare(given: Script | Record, check: Check, new_seed: int) -> Prepared:
    """Return a script ready to run.

    Args:
        given: the script, or the record of the run that is to be repeated.
        check: of the requests of its steps.
        new_seed: for a script without one.

    Raises:
        ControlError: something in it is wrong; the error names the place.
    """
    if isinstance(given, Script):
        return _prepared(given, check, new_seed)
    try:
        prepared = _prepared(given.script, check, new_seed)
    except ControlError as error:
        raise ControlError(error.status, error.text, f"script.{error.at}") from None
    _bounded(given.decisions, DECISIONS_MAX, "decisions")
    known = {rule.id for rule in prepared.script.rules}
    for number, each in enumerate(given.decisions):
        _known(each.rule, known, f"decisions[{number}].rule")
    decisions = [Decision(each.rule, each.match, each.request) for each in given.decisions]
    return prepared._replace(decisions=decisions)


def body_of(do: Do) -> bytes:
    """Return the body of a step's request."""
    return b"" if do.body is None else msgspec.json.encode(do.body)


def _prepared(script: Script, check: Check, new_seed: int) -> Prepared:
    seed = new_seed if script.seed is None else script.seed
    rules = _seeded(_named(script.rules), seed)
    Faults().add(rules)  # it checks them, and forgets them again
    if script.brokers < 1:
        raise ControlError(400, "it is 1 or more", "brokers")
    topics = [_topic(text, f"topics[{number}]") for number, text in enumerate(script.topics)]
    by_id = {rule.id: rule for rule in rules if rule.id is not None}
    _bounded(script.steps, STEPS_MAX, "steps")
    for number, step in enumerate(script.steps):
        _check_step(step, by_id, check, f"steps[{number}]")
    _check_expected(script.expect, by_id)
    _bounded(script.records, RECORDS_MAX, "records")
    _bounded(script.offsets, GROUPS_MAX, "offsets")
    records = _records(script.records)
    return Prepared(msgspec.structs.replace(script, seed=seed, rules=rules), topics, records)


def _named(rules: Sequence[Rule]) -> list[Rule]:
    """Return rules of which each has an id: rule1, rule2, ... where none is given."""
    taken = {rule.id for rule in rules}
    named = []
    for number, rule in enumerate(rules, 1):
        if rule.id is None:
            made = f"rule{number}"
            while made in taken:
                made += "_"
            taken.add(made)
            rule = msgspec.structs.replace(rule, id=made)
        named.append(rule)
    return named


def _seeded(rules: Sequence[Rule], seed: int) -> list[Rule]:
    """Return rules with seeds: the same seed and id of a rule always give the same."""
    return [
        rule
        if rule.seed is not None
        or (rule.probability is None and not isinstance(rule.delay_ms, Lognormal))
        else msgspec.structs.replace(rule, seed=_derived(seed, rule.id or ""))
        for rule in rules
    ]


def _derived(seed: int, rule_id: str) -> int:
    digest = hashlib.sha256(f"{seed} {rule_id}".encode()).digest()
    return int.from_bytes(digest[:_SEED_BYTES], "big")


def _topic(text: str, at: str) -> TopicSpec:
    try:
        return parse_spec(text, at)
    except SettingsError as error:
        raise ControlError(400, str(error).removeprefix(f"{at}: "), at) from None


def _records(given: Sequence[dict[str, object]]) -> list[SeedRecord]:
    records = []
    for number, fields in enumerate(given):
        try:
            records.append(make_record(fields, number))
        except FieldError as error:
            raise ControlError(400, str(error), f"records[{number}]") from None
    return records


def _check_step(step: Step, rules: dict[str, Rule], check: Check, at: str) -> None:
    if step.when is not None:
        _check_when(step.when, rules, f"{at}.when")
    do = step.do
    if do.method == "POST" and do.path.rstrip("/") == "/v1/scripts":
        raise ControlError(400, "a script cannot start another one", f"{at}.do.path")
    try:
        check(do.method, do.path, body_of(do))
    except ControlError as error:
        is_of_body = error.status == 400 and not error.at.startswith("?")
        where = f"body.{error.at}".rstrip(".") if is_of_body else "path"
        raise ControlError(400, error.text, f"{at}.do.{where}") from None


def _check_when(when: When, rules: dict[str, Rule], at: str) -> None:
    given = [name for name in ("rule", "match", "after_ms") if getattr(when, name) is not None]
    if len(given) != 1:
        found = f"not {' and '.join(given)}" if given else "this has none of them"
        raise ControlError(400, f"a step waits for rule, match or after_ms; {found}", at)
    if when.match is None:
        if when.count != 1 or when.arrivals:
            name = "count" if when.count != 1 else "arrivals"
            raise ControlError(400, "it belongs to match", f"{at}.{name}")
    elif not 1 <= when.count <= _COUNT_MAX:
        raise ControlError(400, f"it is between 1 and {_COUNT_MAX}", f"{at}.count")
    else:
        Matcher(when.match, f"{at}.match")
    if when.after_ms is not None and not 0 <= when.after_ms <= _DAY_MS:
        raise ControlError(400, "it is between 0 and a day", f"{at}.after_ms")
    if when.rule is not None:
        _known(when.rule, rules, f"{at}.rule")
        _check_hits(when.hits, rules[when.rule], at)
    elif when.hits is not None:
        raise ControlError(400, "it belongs to rule", f"{at}.hits")


def _check_hits(hits: int | None, rule: Rule, at: str) -> None:
    count = rule.count or 1
    if hits is None:
        if count < 0 and rule.for_ms is None:
            raise ControlError(400, f"rule {rule.id!r} is never spent: give hits", f"{at}.rule")
    elif hits < 1:
        raise ControlError(400, "it is 1 or more", f"{at}.hits")
    elif 0 < count < hits:
        raise ControlError(400, f"rule {rule.id!r} acts on {count} at most", f"{at}.hits")


def _check_expected(expected: Expectation, rules: Collection[str]) -> None:
    _bounded(expected.requests, EXPECTED_MAX, "expect.requests")
    for number, each in enumerate(expected.requests):
        Matcher(each, f"expect.requests[{number}]")
    api_keys(expected.others_ok, "expect.others_ok")
    if not isinstance(expected.unused_ok, bool):
        for number, rule_id in enumerate(expected.unused_ok):
            _known(rule_id, rules, f"expect.unused_ok[{number}]")


def _known(rule_id: str, rules: Collection[str | None], at: str) -> None:
    if rule_id not in rules:
        like = did_you_mean(rule_id, [each for each in rules if each is not None])
        raise ControlError(400, f"there is no rule {rule_id!r} in this script{like}", at)


def _bounded(items: Collection[object], most: int, at: str) -> None:
    if len(items) > most:
        raise ControlError(400, f"there may be {most}", at)
