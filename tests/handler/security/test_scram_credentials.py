"""SCRAM credentials through their handlers; every answer of Kafka is in tests/differential."""

from pathlib import Path
from typing import Any

from broker_lite.wire import messages
from tests.support.handler_broker import HandlerBroker, OpenBroker, handler_broker
from tests.support.small_disk import files_end_at


def alter(broker: HandlerBroker, *names: str, deleted: tuple[str, ...] = ()) -> dict[str, int]:
    types = messages.AlterUserScramCredentialsRequest
    answer = broker.call(
        "AlterUserScramCredentials",
        0,
        deletions=[types.ScramCredentialDeletion(name=name, mechanism=1) for name in deleted],
        upsertions=[
            types.ScramCredentialUpsertion(
                name=name, mechanism=1, iterations=4096, salt=b"s", salted_password=b"p" * 32
            )
            for name in names
        ],
    )
    return {one.user: one.error_code for one in answer.results}


def told(broker: HandlerBroker, users: list[str] | None = None) -> dict[str, Any]:
    types = messages.DescribeUserScramCredentialsRequest
    asked = users and [types.UserName(name=name) for name in users]
    answer = broker.call("DescribeUserScramCredentials", 0, users=asked)
    return {
        one.user: one.error_code
        or [(each.mechanism, each.iterations) for each in one.credential_infos]
        for one in answer.results
    }


def test_p164_p165_what_is_set_is_told_also_after_a_restart(tmp_path: Path) -> None:
    with handler_broker(tmp_path / "data") as broker:
        assert told(broker) == {}
        assert alter(broker, "u", "v", deleted=("w",)) == {"w": 91, "u": 0, "v": 0}
    with handler_broker(tmp_path / "data") as broker:
        assert told(broker) == {"u": [(1, 4096)], "v": [(1, 4096)]}
        assert alter(broker, deleted=("u",)) == {"u": 0}
    with handler_broker(tmp_path / "data") as broker:
        assert told(broker, ["v", "u", "x", "x"]) == {"v": [(1, 4096)], "u": 91, "x": 92}


def test_what_is_not_written_is_not_set(open_broker: OpenBroker) -> None:
    broker = open_broker()
    log = broker.cluster.logs.data_dir / "__cluster_metadata-0" / f"{0:020d}.log"
    with files_end_at(log.stat().st_size):
        assert alter(broker, "u", "") == {"u": 56, "": 93}
    assert told(broker) == {}
