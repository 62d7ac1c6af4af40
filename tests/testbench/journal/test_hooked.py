"""The journal sees what faults do, and is called for the APIs that it records only."""

from typing import Any

import msgspec
import pytest

from broker_lite.server.seams import Seams
from broker_lite.testbench.faults.engine import Faults
from broker_lite.testbench.faults.rules import Rule
from broker_lite.testbench.hooks import BenchHooks
from broker_lite.testbench.journal.entry_facts import EntryFacts
from broker_lite.testbench.journal.journal import Journal
from broker_lite.testbench.journal.recording import Recording
from broker_lite.testbench.journal.render import line
from broker_lite.wire import messages
from tests.testbench.conftest import FaultyBroker


@pytest.fixture
def journal(bench: FaultyBroker) -> Journal:
    journal = Journal()
    BenchHooks(bench.seams, bench.faults, journal)
    return journal


def test_the_journal_sees_the_fault_and_which_it_was(bench: FaultyBroker, journal: Journal) -> None:
    journal.configure(Recording(recording="headers"))
    rule = bench.rule(keys=["Heartbeat"], error="NOT_COORDINATOR")
    bench.call("Heartbeat", 4, group_id="g")
    bench.call("Heartbeat", 4, group_id="g")
    first, second = (EntryFacts(entry) for entry in journal.entries())
    assert first.errors == ["NOT_COORDINATOR"]
    assert (first.entry.rule, second.entry.rule) == (rule.id, "")
    assert line(first).endswith(f"[{rule.id}]")
    journal.configure(Recording())


def test_hooks_are_those_that_somebody_needs() -> None:
    seams, faults, journal = Seams(), Faults(), Journal()
    BenchHooks(seams, faults, journal)
    assert not seams.hooks
    journal.configure(Recording(recording="headers", keys=["Produce", "Fetch"]))
    assert seams.hooks == {0: journal.hook_part, 1: journal.hook_part}
    rule: Any = msgspec.convert({"keys": ["Fetch", "EndTxn"], "error": "NOT_COORDINATOR"}, Rule)
    faults.add([rule])
    assert seams.hooks.keys() == {0, 1, messages.EndTxnRequest.api_key}
    journal.configure(Recording())
    assert seams.hooks.keys() == {1, messages.EndTxnRequest.api_key}
    faults.clear()
    assert not seams.hooks
