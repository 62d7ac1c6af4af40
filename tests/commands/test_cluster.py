"""`cluster`, with the lines of kafka-cluster.sh."""

import re
from pathlib import Path

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


def test_neither_of_them(command: CommandLine) -> None:
    assert command.fails("cluster", "unregister").startswith("2: argument action: invalid choice")
