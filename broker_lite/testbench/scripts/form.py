"""The form of a script, and of the record of a run."""

from typing import Any, Literal

import msgspec

from broker_lite.testbench.faults.rules import Rule
from broker_lite.testbench.selectors import Selectors


class When(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What a step waits for: a rule, requests, or a time.

    Attributes:
        rule: the id of a rule of the script; without `hits`, the step waits until it is spent.
        hits: on how many requests the rule has acted.
        match: which requests, counted from the start of the script.
        count: of these requests.
        arrivals: a request counts when it arrives, not when it is answered.
        after_ms: so long after the step before it is done, or after the start.
    """

    rule: str | None = None
    hits: int | None = None
    match: Selectors | None = None
    count: int = 1
    arrivals: bool = False
    after_ms: float | None = None


class Do(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A request of the control API.

    Attributes:
        method: of HTTP.
        path: with its query, if it has one.
        body: JSON; left out for none.
    """

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    body: Any = None


class Step(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What is done, and when. A step begins to wait when the step before it is done.

    Attributes:
        do: the request.
        when: what it waits for; left out for nothing.
    """

    do: Do
    when: When | None = None


class Expectation(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What has to have happened for the outcome to be ok.

    Attributes:
        requests: the requests that have to come, in order.
        others_ok: APIs whose requests may come anywhere in between; null for all.
        unused_ok: the ids of rules that need not act; true for all rules.
    """

    requests: list[Selectors] = []
    others_ok: list[str | int] | None = []
    unused_ok: bool | list[str] = False


class Script(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A script.

    Attributes:
        name: for log lines.
        seed: the seeds of rules that have none are derived from it; made if it is left out.
        brokers: how many brokers it needs.
        topics: to be created, as NAME[:PARTITIONS[:CONFIG=VALUE,...]].
        records: to be written before the rules are in force, as the lines of a seed file.
        offsets: to be committed then: group, then topic, then partition, then offset.
        rules: put in force together.
        steps: carried out one after the other.
        expect: what has to happen; without it, every rule has to act.
    """

    name: str = ""
    seed: int | None = None
    brokers: int = 1
    topics: list[str] = []
    records: list[dict[str, Any]] = []
    offsets: dict[str, dict[str, dict[int, int]]] = {}
    rules: list[Rule] = []
    steps: list[Step] = []
    expect: Expectation = msgspec.field(default_factory=Expectation)


class Acted(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """One time that a rule acted.

    Attributes:
        rule: its id.
        match: which one of the requests that it matched, from 1 on; a replay goes by this.
        request: which one of all requests that rules were asked about since the start.
    """

    rule: str
    match: int
    request: int


class Record(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A run, with all that is needed to repeat the broker's decisions.

    Attributes:
        format: of this object.
        script: with its seed, and an id for each rule.
        decisions: when rules acted, in order.
        requests: the journal of the run, a line for each request; a replay does not read it.
    """

    format: Literal[1] = 1
    script: Script
    decisions: list[Acted] = []
    requests: list[str] = []


class StepState(msgspec.Struct, omit_defaults=True, kw_only=True):
    """What became of a step.

    Attributes:
        do: method and path.
        state: "pending" until the steps before it are done.
        at_ms: when it was done or failed, in ms after the start.
        status: of the answer.
        error: why it failed.
    """

    do: str
    state: Literal["pending", "waiting", "running", "done", "failed"]
    at_ms: int | None = None
    status: int | None = None
    error: str = ""
