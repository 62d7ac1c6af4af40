"""Try a client on a bug: run its program against the script, and judge what came of it.

python -m tests.catalogue.play [BUG...] [--clients CLIENT,...] prints the verdicts.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from datetime import timedelta
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.testbench.scripts.files import read_script_file
from broker_lite.testing import Broker, ScriptFailed
from broker_lite.testing.scripts import Script
from tests.catalogue.bug import Bug, Stands, bug_of, names, path_of
from tests.conformance.clients import CLIENTS, Builds
from tests.conformance.program import Program, Programs

BY_NAME: Final = {client.name: client for client in CLIENTS}
SETTINGS: Final[Mapping[str, object]] = {
    "broker.session.timeout.ms": 0,
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 500,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 200,
    "auto.create.topics.enable": "false",
}
OPTIONS: Final[Mapping[str, Mapping[str, object]]] = {
    "writer": {"acks": "all", "idempotent": "true", "request_ms": 1000, "delivery_ms": 4000},
    "reader": {},
    "member": {
        "group": "g",
        "protocol": "classic",
        "assignor": "range",
        "session_ms": 2000,
        "heartbeat_ms": 100,
    },
    "transactor": {"transactional_id": "x", "timeout_ms": 10_000},
}
OWN: Final = ("reader",)
STANDS: Final = "stands"
STUMBLES: Final = "stumbles"
_UNUSED: Final = " acted on no request"
_READY_S: Final = 5
_STEP_S: Final = 0.02


class NotTried(AssertionError):
    """The script did not bring the client into the situation, so nothing is known of it."""


class Tried(NamedTuple):
    """What came of a trial.

    Attributes:
        verdict: stands or stumbles.
        why: what was not as it has to be; empty if it stands.
        seconds: how long it took.
        requests: what came, by API.
        printed: the last lines of the program.
    """

    verdict: str
    why: str
    seconds: float
    requests: Mapping[str, int]
    printed: str


class Complaint(NamedTuple):
    """What is not as it has to be, and whether it stays so whatever happens."""

    text: str
    is_final: bool = False


RIGHT: Final = Complaint("")


class Trial:
    """One client on one bug."""

    def __init__(self, broker: Broker, bug: Bug, script: Script, program: Program) -> None:
        self._broker = broker
        self._stands: Stands = bug.stands
        self._commands = bug.commands
        self._script = script
        self._program = program
        self._deadline = time.monotonic() + bug.stands.within_ms / 1000

    def complaint(self) -> str:
        """What is not as it has to be, after all that has happened; empty if all is right."""
        found = self._settled(self._of_answers) or self._settled(self._of_reads)
        found = found or self._of_script()
        if found:
            return found
        time.sleep(self._stands.settle_ms / 1000)
        return next((each for each in self._lasting() if each), "")

    def _lasting(self) -> Iterator[str]:
        """Each complaint about what has to be so to the end."""
        yield self._of_answers().text
        yield self._of_reads().text
        yield "" if self._program.running or self._stands.told else "its program ended"
        for topic, values in self._stands.log.items():
            told = self._broker.control("GET", f"/v1/topics/{topic}/records")
            found = [str(json.loads(line)["value"]) for line in str(told).splitlines()]
            yield "" if found == [*values] else f"{topic} has {' '.join(found) or 'nothing'}"
        requests = self.requests()
        for api, most in self._stands.at_most.items():
            yield "" if requests[api] <= most else f"{api} came more than {most} times"
        for api, least in self._stands.at_least.items():
            yield "" if requests[api] >= least else f"{api} came less than {least} times"

    def requests(self) -> Counter[str]:
        """How many requests have come, by API."""
        return Counter(each.api for each in self._broker.requests())

    def _settled(self, ask: Callable[[], Complaint]) -> str:
        """The complaint that does not go away in time."""
        while True:
            found = ask()
            is_late = time.monotonic() > self._deadline or not self._program.running
            if not found.text or found.is_final or is_late:
                return found.text
            time.sleep(_STEP_S)

    def _of_answers(self) -> Complaint:
        events = [each for each in self._program.events if each.kind in {"done", "failed"}]
        for number, expected in enumerate(self._stands.answers):
            if number >= len(events):
                return Complaint(f"no answer to {self._commands[number]}")
            found = " ".join((events[number].kind, *events[number].words))
            if not found.startswith(expected):
                return Complaint(f"answered {found[:100]}", is_final=True)
        return RIGHT

    def _of_reads(self) -> Complaint:
        expected = self._stands.reads
        found = [" ".join(event.words) for event in self._program.of_kind("read")]
        if expected is not None and found != [*expected]:
            is_final = found != [*expected[: len(found)]]
            return Complaint(f"read {', '.join(found) or 'nothing'}", is_final)
        missing = [each for each in self._stands.sees if each not in found]
        if missing:
            return Complaint(f"did not read {', '.join(missing)}")
        is_told = bool(self._program.of_kind("refused")) or self._program.failed
        return RIGHT if is_told or not self._stands.told else Complaint("told nothing of an error")

    def _of_script(self) -> str:
        left = max(self._deadline - time.monotonic(), 0.1)
        try:
            self._script.wait(timedelta(seconds=left))
        except ScriptFailed as error:
            return " ".join(str(error).split("\n")[1:2]).strip()
        return ""


def script_part(name: str) -> dict[str, object]:
    """The script of a bug, without its head."""
    return read_script_file(str(path_of(name)))


def try_client(broker: Broker, name: str, client: str, command: list[str], folder: Path) -> Tried:
    """Try a client's program on a bug.

    Raises:
        NotTried: no rule of the script acted, or the client was right and one has not acted.
    """
    bug = bug_of(name)
    began = time.monotonic()
    with ExitStack() as stack:
        stack.callback(_again, broker)
        script = broker.script(script_part(name))
        stack.callback(script.end)
        _wait_for_steps(script)
        programs = stack.enter_context(Programs(folder))
        given = {"bootstrap": ",".join(broker.addresses), "topic": "t", **OPTIONS[bug.program]}
        if client == "kafkajs":
            given["assignor"] = "round-robin"
        program = programs.start(command, given | bug.options, name)
        with suppress(BrokenPipeError):
            for each in bug.commands:
                program.tell(each)
        trial = Trial(broker, bug, script, program)
        why = trial.complaint()
        rules = script.state()["rules"]
        assert isinstance(rules, list)
        if rules and (not any(rule["hits"] for rule in rules) or why.endswith(_UNUSED)):
            raise NotTried(f"{name} is not the situation: {why}\n{programs.report()}")
        requests = trial.requests()
        printed = programs.report()
    verdict = STUMBLES if why else STANDS
    return Tried(verdict, why, time.monotonic() - began, requests, printed)


def _wait_for_steps(script: Script) -> None:
    """Wait until all is done that does not wait for the client."""
    deadline = time.monotonic() + _READY_S
    while time.monotonic() < deadline:
        steps = script.state()["steps"]
        assert isinstance(steps, list)
        if all(step["state"] != "running" for step in steps):
            return
        time.sleep(_STEP_S)


def _again(broker: Broker) -> None:
    """Make the broker as new."""
    broker.clear_faults()
    broker.heal()
    broker.reset()
    broker.control("DELETE", "/v1/requests")


def command_of(builds: Builds, client: str, program: str) -> list[str]:
    """The command line of a client's program."""
    if program in OWN:
        return [sys.executable, "-m", f"tests.catalogue.programs.{client}_{program}"]
    return builds.command(BY_NAME[client], program)


def main() -> None:
    """Print the verdicts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bugs", nargs="*", default=names())
    parser.add_argument("--clients", default="confluent,aiokafka,kafka_python")
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Broker(SETTINGS, brokers=3) as broker:
        builds = Builds(Path(folder))
        broker.record_requests("headers")
        for name in given.bugs:
            for client in given.clients.split(","):
                command = command_of(builds, client, bug_of(name).program)
                try:
                    tried = try_client(broker, name, client, command, Path(folder))
                except NotTried as error:
                    print(f"{name} {client}: NOT TRIED {error}", flush=True)
                    continue
                print(f"{name} {client}: {tried.verdict} {tried.seconds:.1f}s {tried.why}")
                print(f"    {dict(tried.requests)}", flush=True)
                if given.verbose:
                    print(tried.printed, flush=True)


if __name__ == "__main__":
    main()
