"""`storage`, with the flags of kafka-storage.sh."""

import re
from pathlib import Path

import pytest

from tests.support.broker_process import BrokerProcess
from tests.support.command_line import CommandLine
from tests.support.raw_client import RawClient

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A server.properties with a directory that does not exist yet."""
    path = tmp_path / "server.properties"
    path.write_text(f"node.id=3\nprocess.roles=broker,controller\nlog.dirs={tmp_path}/new/data\n")
    return path


@pytest.fixture
def storage(command: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command, without settings in the environment."""
    monkeypatch.delenv("KAFKA_LOG_DIRS", raising=False)
    return command.of("storage")


def formatting(config: Path, cluster_id: str = CLUSTER_ID) -> tuple[str, ...]:
    return ("format", "-t", cluster_id, "-c", str(config))


def test_a_new_id(storage: CommandLine) -> None:
    ids = {storage.ok("random-uuid") for _ in range(10)}
    assert len(ids) == 10
    assert all(re.fullmatch(r"\w[\w-]{21}\n", each) for each in ids)


def test_a_directory_that_a_broker_then_uses(
    command: CommandLine, storage: CommandLine, config: Path
) -> None:
    data = config.parent / "new" / "data"
    assert storage.ok(*formatting(config), "--standalone") == (
        f"Formatting metadata directory {data}.\n"
    )
    assert re.fullmatch(
        r"#\nnode\.id=3\ndirectory\.id=[\w-]{22}\nversion=1\ncluster\.id=" + CLUSTER_ID + r"\n",
        (data / "meta.properties").read_text(),
    )
    with BrokerProcess(data, arguments=["--node-id", "3"]) as broker:
        at = ("--bootstrap-server", broker.bootstrap)
        assert command.ok("cluster", "cluster-id", *at) == f"Cluster ID: {CLUSTER_ID}\n"


def test_what_is_formatted_already(storage: CommandLine, config: Path) -> None:
    data = config.parent / "new" / "data"
    storage.ok(*formatting(config))
    before = (data / "meta.properties").read_text()
    line = storage.fails(*formatting(config))
    assert line.startswith(f"2: Log directory {data} is already formatted. Use --ignore-formatted")
    printed = storage.ok(*formatting(config), "--ignore-formatted")
    assert printed == "All of the log directories are already formatted.\n"
    assert (data / "meta.properties").read_text() == before


def test_another_cluster_s_directory_is_left_alone(storage: CommandLine, config: Path) -> None:
    storage.ok(*formatting(config))
    storage.ok(*formatting(config, "another"), "-g")
    assert f"cluster.id={CLUSTER_ID}," in storage.ok("info", "-c", str(config))


def test_looking_at_directories(storage: CommandLine, config: Path) -> None:
    data = config.parent / "new" / "data"
    look = ("info", "--config", str(config))
    assert storage(*look) == (1, f"Found problem:\n  {data} does not exist\n\n", "")
    data.mkdir(parents=True)
    assert storage(*look) == (
        1,
        f"Found log directory:\n  {data}\n\nFound problem:\n  {data} is not formatted.\n\n",
        "",
    )
    storage.ok(*formatting(config))
    assert re.fullmatch(
        rf"Found log directory:\n  {data}\n\nFound metadata: \{{cluster\.id={CLUSTER_ID},"
        r" directory\.id=[\w-]{22}, node\.id=3, version=1\}\n\n",
        storage.ok(*look),
    )
    (data / "meta.properties").write_text("version=9\n")
    assert storage.fails(*look).endswith("meta.properties: unknown version '9'")


def test_without_a_directory(storage: CommandLine, tmp_path: Path) -> None:
    config = tmp_path / "server.properties"
    config.write_text("node.id=1\n")
    assert storage.ok(*formatting(config)).startswith("There is no log.dirs:")


def test_a_directory_that_cannot_be_made(storage: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    config = tmp_path / "server.properties"
    config.write_text(f"log.dirs={tmp_path}/file/data\n")
    line = storage.fails(*formatting(config))
    assert line == f"2: data directory {tmp_path}/file/data: Not a directory"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "the following arguments are required: action"),
        (("wipe",), "argument action: invalid choice: 'wipe'"),
        (("format", "-t", "x"), "storage format needs --config"),
        (("info",), "storage info needs --config"),
        (("info", "-c", "/nosuch"), "/nosuch: cannot be read: No such file or directory"),
    ],
)
def test_what_a_person_got_wrong(
    storage: CommandLine, arguments: tuple[str, ...], message: str
) -> None:
    assert storage.fails(*arguments).startswith(f"2: {message}")


def test_format_needs_an_id(storage: CommandLine, config: Path) -> None:
    line = storage.fails("format", "--config", str(config))
    assert line == "2: storage format needs --cluster-id; storage random-uuid prints one"


def test_users_of_scram_are_there_at_the_first_start(storage: CommandLine, config: Path) -> None:
    data = config.parent / "new" / "data"
    users = ("SCRAM-SHA-256=[name=alice,password=hush]", "SCRAM-SHA-512=[name=bob,password=hush]")
    told = storage.ok(*formatting(config), "-S", users[0], "--add-scram", users[1])
    assert told == f"Formatting metadata directory {data}.\n"
    assert b"hush" not in (data / "bootstrap.checkpoint").read_bytes()
    for _ in range(2):
        with BrokerProcess(data, arguments=["--node-id", "3"]) as broker:
            host, _, port = broker.bootstrap.rpartition(":")
            with RawClient(host, int(port)) as client:
                answer = client.call("DescribeUserScramCredentials", 0, users=None)
        told_users = {
            one.user: [(each.mechanism, each.iterations) for each in one.credential_infos]
            for one in answer.results
        }
        assert told_users == {"alice": [(1, 4096)], "bob": [(2, 4096)]}


def test_a_user_of_scram_that_is_written_wrongly(storage: CommandLine, config: Path) -> None:
    told = storage.fails(*formatting(config), "-S", "SCRAM-SHA-256=[name=a,pass=hush]")
    assert "You must supply one of 'password'" in told
    assert "hush" not in told
    assert not (config.parent / "new").exists()
