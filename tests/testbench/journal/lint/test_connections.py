"""What goes wrong with connections and versions."""

from typing import Any

from broker_lite.testbench.journal.entry_facts import EntryFacts
from broker_lite.testbench.journal.lint.connections import (
    CONNECTION_TIMES,
    Connections,
    NoApiVersions,
    OldVersions,
    RepeatedCorrelationIds,
    first_version,
)
from broker_lite.wire import messages
from tests.testbench.journal.recorded import Client, recording

VERSIONS = messages.ApiVersionsRequest
HEARTBEAT = messages.HeartbeatRequest


def ask(client: Client, kind: Any = HEARTBEAT, version: int = 4, **at: float) -> EntryFacts:
    return EntryFacts(client.send(kind, kind(), version, **at))


def test_connections() -> None:
    rule = Connections()
    journal = recording()
    for number in range(CONNECTION_TIMES + 2):
        client = Client(journal, number)
        for _ in range(3):
            rule.see(ask(client, at_s=number / 100))
    assert [each.count for each in rule.findings()] == [3]


def test_connections_that_were_open_before_are_not_new() -> None:
    rule = Connections()
    journal = recording()
    for number in range(CONNECTION_TIMES + 2):
        client = Client(journal, number)
        client.correlation_id = 100
        rule.see(ask(client, at_s=number / 100))
    assert not list(rule.findings())


def test_no_api_versions() -> None:
    rule = NoApiVersions()
    journal = recording()
    right, knows, wrong = (Client(journal, at, name) for at, name in enumerate(("a", "b", "c")))
    for facts in (
        ask(right, VERSIONS, 3),
        ask(right),
        ask(knows, messages.SaslHandshakeRequest, 1),
        ask(knows),
        ask(Client(journal, 7, "b"), VERSIONS, 3),
        ask(wrong, messages.SaslHandshakeRequest, 1),
        ask(wrong),
        ask(Client(journal, 8, "d", software="lib 1")),
    ):
        rule.see(facts)
    assert [(each.client, each.requests) for each in rule.findings()] == [("c", ["r7"])]


def test_repeated_correlation_ids() -> None:
    rule = RepeatedCorrelationIds()
    journal = recording()
    client, other = Client(journal, 1), Client(journal, 2)
    for _ in range(40):
        rule.see(ask(client))
        rule.see(ask(other))
    assert not list(rule.findings())
    client.correlation_id -= 1
    rule.see(ask(client))
    assert [each.requests for each in rule.findings()] == [["r81"]]


def test_old_versions() -> None:
    assert (first_version(1), first_version(0), first_version(999)) == (4, 3, 0)
    rule = OldVersions()
    client = Client(recording())
    rule.see(ask(client, messages.FetchRequest, 3))
    rule.see(ask(client, messages.FetchRequest, 4))
    assert [each.count for each in rule.findings()] == [1]
