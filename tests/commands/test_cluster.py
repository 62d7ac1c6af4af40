"""`cluster`, with the lines of kafka-cluster.sh."""

import re
from pathlib import Path

import pytest

from tests.support.broker_process import BrokerProcess
from tests.support.command_line import CommandLine


def test_the_id_of_a_cluster(command: CommandLine, tmp_path: Path) -> None:
    with BrokerProcess(
        tmp_path / "data", settings=["broker.lite.cluster.id=my-own-cluster"]
    ) as broker:
        printed = command.ok("cluster", "cluster-id", "--bootstrap-server", broker.bootstrap)
    assert printed == "Cluster ID: my-own-cluster\n"


def test_where_its_brokers_are(command: CommandLine, bootstrap: str) -> None:
    port = bootstrap.partition(":")[2]
    assert command.ok("cluster", "list-endpoints", "--bootstrap-server", bootstrap) == (
        "ID         HOST      PORT       RACK       STATE      ENDPOINT_TYPE  \n"
        f"1          127.0.0.1 {port:<10} null       unfenced   broker         \n"
    )


def test_an_old_broker(command: CommandLine, old_bootstrap: str) -> None:
    printed = command.ok("cluster", "cluster-id", "--bootstrap-server", old_bootstrap)
    assert re.fullmatch(r"Cluster ID: [\w-]{22}\n", printed)


def test_an_action_that_there_is_not(command: CommandLine) -> None:
    assert command.fails("cluster", "forget").startswith("2: argument action: invalid choice")


def test_a_broker_is_forgotten(command: CommandLine, tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", arguments=("--brokers", "2")) as broker:
        ask = command.of("cluster")
        there = ("--bootstrap-server", broker.bootstrap)
        lines = ask.ok("list-endpoints", "--include-fenced-brokers", *there).splitlines()
        assert [line.split()[::4] for line in lines[1:]] == [["1", "unfenced"], ["2", "unfenced"]]
        assert ask.ok("unregister", "--id", "1", *there) == "Broker 1 is no longer registered.\n"
        assert "Broker ID 1 is not currently registered" in ask.fails(
            "unregister", "--id", "1", *there
        )
        assert len(ask.ok("list-endpoints", *there).splitlines()) == 2


@pytest.mark.parametrize("words", [("unregister",), ("cluster-id", "--id", "1")])
def test_which_broker_to_forget(command: CommandLine, words: tuple[str, ...]) -> None:
    assert "unregister and --id need each other" in command.fails("cluster", *words)
