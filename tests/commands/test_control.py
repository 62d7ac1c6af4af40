"""`control`: each short form is one request, at a broker with the control API."""

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_lite.testing import Broker
from tests.support.command_line import CommandLine


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(
        {"broker.lite.control": "127.0.0.1:0", "broker.session.timeout.ms": 0}, brokers=2
    ) as broker:
        yield broker


@pytest.fixture
def ask(broker: Broker, command: CommandLine) -> CommandLine:
    found = re.search(r"control API at (http://\S+)", broker.log)
    assert found is not None
    broker.control("DELETE", "/v1/faults")
    return command.of("control", "--url", found[1])


def test_any_request(ask: CommandLine, tmp_path: Path) -> None:
    assert json.loads(ask.ok("get", "/v1"))["name"] == "broker-lite"
    ask.ok("post", "/v1/faults", '{"id": "a", "hold": true, "keys": ["EndTxn"]}')
    path = tmp_path / "rule.json"
    path.write_text('{"id": "b", "hold": true, "keys": ["EndTxn"]}')
    ask.ok("post", "/v1/faults", f"@{path}")
    rule = '{"id": "c", "hold": true, "keys": ["EndTxn"]}'
    ask.ok("post", "/v1/faults", "-", typed=rule)
    assert [each["id"] for each in json.loads(ask.ok("get", "/v1/faults"))] == ["a", "b", "c"]
    assert ask.ok("delete", "/v1/faults") == ""
    assert ask.ok("get", "/v1/faults") == "[]\n"


def test_faults(ask: CommandLine, broker: Broker, tmp_path: Path) -> None:
    text = "keys=produce,topic=orders,error=REQUEST_TIMED_OUT,count=1"
    added = json.loads(ask.ok("faults", "add", text))
    rule = {"keys": ["produce"], "topic": "orders", "error": "REQUEST_TIMED_OUT"}
    assert added["rules"][0]["rule"] == rule
    path = tmp_path / "rules.json"
    path.write_text(json.dumps({"rules": [{"id": "more", "hold": True, "keys": ["EndTxn"]}]}))
    ask.ok("faults", "add", f"@{path}")
    assert [each["id"] for each in json.loads(ask.ok("faults", "list"))] == [added["id"], "more"]
    late = ask.fails("faults", "wait", added["id"], "--hits", "2", "--timeout-ms", "1")
    assert late.startswith(f"1: fault {added['id']} has 0 of 2 hits after 1 ms")
    assert json.loads(ask.ok("faults", "release", "more", "--count", "1")) == {"released": 0}
    assert json.loads(ask.ok("faults", "remove", "more"))["hits"] == 0
    assert ask.fails("faults", "remove", "more") == "1: there is no rule 'more'"
    assert ask.ok("faults", "clear") == ""


def test_a_refusal_names_the_place(ask: CommandLine) -> None:
    told = ask.fails("faults", "add", "keys=produce,error=NOT_LEADER")
    assert told.startswith("1: rules[0].error: there is no error 'NOT_LEADER'; did you mean")


def test_requests(ask: CommandLine, broker: Broker) -> None:
    assert ask.ok("requests") == ""
    broker.record_requests()
    broker.produce("orders", "x")
    first, *_ = ask.ok("requests", "keys=Produce,Metadata,topic=orders").splitlines()
    assert " Metadata v" in first
    (last,) = ask.ok("requests", "--limit", "1").splitlines()
    assert " Produce v" in last
    assert ask.ok("requests", "keys=produce,errors=true,nodes=1,2") == ""
    assert ask.fails("requests", "keys=prodce").startswith("1: ")
    broker.record_requests("off")


def test_requests_as_they_come(ask: CommandLine, broker: Broker) -> None:
    broker.record_requests()
    command = [sys.executable, "-m", "broker_lite", *ask.beginning]
    command += ["requests", "keys=Produce", "--follow"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines: list[str] = []
        reader = threading.Thread(target=lambda: lines.append(process.stdout.readline()))
        reader.start()
        while reader.is_alive():  # it may not follow yet
            broker.produce("orders", "x")
            reader.join(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    assert " Produce v" in lines[0]
    broker.record_requests("off")


def test_a_wait_for_a_group(ask: CommandLine) -> None:
    wait = ask.of("groups", "wait", "nobody")
    assert json.loads(wait.ok("--members", "0", "--state", "Dead"))["members"] == []
    told = wait.fails("--members", "2", "--timeout-ms", "1")
    assert told.startswith("1: ")
    assert "nobody" in told


def test_share_groups_and_streams_groups(ask: CommandLine) -> None:
    missing = "1: there is no group 'nobody'"
    assert ask.fails("groups", "in-flight", "nobody") == missing
    assert ask.fails("groups", "tasks", "nobody") == missing
    flags = ("--accepted", "1", "--in-flight", "0", "--timeout-ms", "1")
    told = ask.fails("groups", "in-flight", "nobody", *flags)
    assert told.startswith("1: share group nobody is not as wanted after 1 ms")


def test_brokers(ask: CommandLine, broker: Broker) -> None:
    for action, state in (("down", "down"), ("up", "up"), ("hang", "hung"), ("stop", None)):
        if state is None:
            assert ask.fails("brokers", action, "2").startswith("1: ")
        else:
            assert json.loads(ask.ok("brokers", action, "2"))["state"] == state
    ask.ok("post", "/v1/cluster/heal")
    assert [each["state"] for each in json.loads(ask.ok("brokers", "list"))] == ["up", "up"]


@pytest.fixture
def secured(broker_factory: Any, command: CommandLine) -> CommandLine:
    authorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    broker = broker_factory({"authorizer.class.name": authorizer}, security="ssl")
    found = re.search(r"control API at (http://\S+)", broker.log)
    assert found is not None
    return command.of("control", "--url", found[1])


def test_certificates(secured: CommandLine) -> None:
    own = [{"broker": 1, "listener": "SSL", "fault": ""}]
    spoiled = [{"broker": 1, "listener": "SSL", "fault": "expired"}]
    assert json.loads(secured.ok("certificates", "list")) == own
    assert json.loads(secured.ok("certificates", "spoil", "expired")) == spoiled
    assert json.loads(secured.ok("certificates", "list")) == spoiled
    assert json.loads(secured.ok("certificates", "restore", "--broker", "1")) == own
    told = secured.fails("certificates", "spoil", "expired", "--broker", "2")
    assert told == "1: broker: there is no broker 2"


def test_acls(secured: CommandLine, tmp_path: Path) -> None:
    text = "resource_type=TOPIC,name=42,principal=User:alice,operation=READ"
    (added,) = json.loads(secured.ok("acls", "add", text))
    assert (added["name"], added["permission"]) == ("42", "ALLOW")
    path = tmp_path / "acls.json"
    path.write_text(json.dumps({"acls": [{**added, "operation": "WRITE"}]}))
    secured.ok("acls", "add", f"@{path}")
    assert len(json.loads(secured.ok("acls", "list"))) == 2
    assert json.loads(secured.ok("acls", "list", "operation=READ")) == [added]
    assert json.loads(secured.ok("acls", "remove", "operation=READ,name=42")) == [added]
    assert len(json.loads(secured.ok("acls", "remove"))) == 1
    assert json.loads(secured.ok("acls", "list")) == []


def test_a_reset(ask: CommandLine, broker: Broker) -> None:
    broker.create_topic("of-a-test")
    assert ask.ok("reset") == ""
    assert ask.fails("get", "/v1/topics/of-a-test/0") == "1: there is no topic 'of-a-test'"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("get", "v1"), "2: 'v1' is no path; write /v1/..."),
        (("post", "/v1/faults", "{"), "2: not JSON: "),
        (("post", "/v1/faults", "@no-such-file"), "2: no-such-file: No such file or directory"),
        (("faults", "add", "produce"), "2: 'produce' in 'produce': write NAME=VALUE, or a flag"),
        (("faults", "wait", "f1", "--hits", "x"), "2: argument --hits: invalid int value"),
        (("faults",), "2: the following arguments are required: ACTION"),
        (("requests", "[]"), "2: write the selectors as NAME=VALUE"),
        (("--url", "https://a", "reset"), "2: 'https://a' is no URL of a control API"),
        (("--url", "http://127.0.0.1:1", "reset"), "1: the control API at http://127.0.0.1:1: "),
    ],
)
def test_mistakes(command: CommandLine, words: tuple[str, ...], told: str) -> None:
    assert command.fails("control", *words).startswith(told)
