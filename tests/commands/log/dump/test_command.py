"""S-95: what is in the files, as Kafka's tool prints it.

The files in data/dump/files.json were written by a Kafka 4.3.1 and a broker-lite in turn, but for
mixed-0 and legacy-0; the texts beside it are what the dump tool of that Kafka printed of them.

Also tests: broker_lite.commands.log.actions, broker_lite.commands.log.dump.as_json,
broker_lite.commands.log.dump.batches, broker_lite.commands.log.dump.index_checks,
broker_lite.commands.log.dump.small_files, broker_lite.commands.log.files,
broker_lite.commands.shared.internal_records, broker_lite.commands.shared.message_json.
"""

import json
import re
from pathlib import Path

import pytest

from broker_lite.commands.scripts import as_command
from tests.log.batches import batch, records
from tests.pipeline.support import legacy_wrapper
from tests.support.command_line import CommandLine
from tests.support.packed_files import unpack

DATA = Path(__file__).parents[2] / "data" / "dump"
_INNER = re.compile(r"(\| offset: .*) isValid: true crc: \d+")


@pytest.fixture
def dump(command: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command in a copy of the directory."""
    unpack(DATA / "files.json", tmp_path)
    monkeypatch.chdir(tmp_path)
    return command.of("log", "dump")


def files(*patterns: str) -> str:
    found = sorted(path for pattern in patterns for path in Path().glob(pattern))
    return ",".join(map(str, sorted(found, key=lambda path: [*map(str, path.parts)])))


def as_kafka(name: str) -> str:
    """What Kafka's tool printed, without the checksums that messages inside of others have."""
    return _without_inner((DATA / name).read_text("utf-8"))


def _without_inner(text: str) -> str:
    return _INNER.sub(r"\1", text)


@pytest.mark.parametrize(
    ("flags", "patterns", "expected"),
    [
        (["--cluster-metadata-decoder"], ["__cluster_metadata-0/*"], "metadata.txt"),
        (["--offsets-decoder"], ["__consumer_offsets-3/*"], "offsets.txt"),
        (["--transaction-log-decoder"], ["__transaction_state-3/*"], "transactions.txt"),
        (["--print-data-log"], ["legacy-0/*", "mixed-0/*", "orders-0/*"], "data.txt"),
        (["--deep-iteration"], ["legacy-0/*", "mixed-0/*"], "deep.txt"),
        (
            ["--skip-record-metadata", "--print-data-log"],
            ["legacy-0/*", "mixed-0/*", "orders-0/*.log"],
            "bare.txt",
        ),
        ([], ["legacy-0/*", "mixed-0/*", "orders-0/*.log"], "shallow.txt"),
    ],
)
def test_s95_every_line_is_that_of_kafkas_tool(
    dump: CommandLine, flags: list[str], patterns: list[str], expected: str
) -> None:
    printed = dump.ok(*flags, "--files", files(*patterns))
    assert _without_inner(printed) == as_kafka(expected)


def test_kafkas_script_has_its_name() -> None:
    assert as_command("kafka-dump-log.sh", ["--files", "a"]) == ["log", "dump", "--files", "a"]


def test_records_of_a_topic_of_kafkas_own_are_decoded_without_a_flag(dump: CommandLine) -> None:
    for name, text in (
        ("__cluster_metadata-0", '"type":"TOPIC_RECORD"'),
        ("__consumer_offsets-3", '"group":"classic group"'),
        ("__transaction_state-3", '"transactionalId":"taken over"'),
    ):
        assert text in dump.ok("--deep-iteration", "--print-data-log", name)
        assert text not in dump.ok("--print-data-log", "--raw", name)


def test_s01_a_directory_stands_for_all_of_its_files(dump: CommandLine) -> None:
    Path("meta.properties").write_text("version=1\nnode.id=1\ncluster.id=c\n")
    Path("recovery-point-offset-checkpoint").write_text("0\n1\norders 0 61\n")
    Path("orders-0/leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    Path("orders-0/partition.metadata").write_text("version: 0\ntopic_id: " + "A" * 21 + "Q")
    Path("orders-0/unknown").touch()
    printed = dump.ok(".")
    for text in (
        "clusterId: c nodeId: 1 directoryId: ",
        "topic: orders partition: 0 offset: 61",
        "leaderEpoch: 0 startOffset: 0",
        f"topicId: {'A' * 21}Q",
        "producerId: 0 producerEpoch: 0",
        "orders-0/00000000000000000000.index is empty.",
    ):
        assert text in printed
    assert "unknown" not in printed
    assert "Ignoring unknown file orders-0/unknown" in dump.ok("orders-0/unknown")


def test_every_line_of_json_is_an_object(dump: CommandLine) -> None:
    lines = [json.loads(line) for line in dump.ok("--json", ".").splitlines()]
    assert {line["file"].split("/")[0] for line in lines} >= {"orders-0", "legacy-0", "mixed-0"}
    records = [line for line in lines if line["file"].startswith("mixed-0/")]
    assert [line["offset"] for line in records if line["type"] == "record"] == list(range(7, 26))
    assert records[1]["headers"] == [["h", "x"], ["n", None]]
    assert records[2]["key"] is None
    assert set(records[3]["value"]) == {"base64"}
    controls = [line for line in lines if line.get("type") == "control"]
    assert {line["control"] for line in controls} >= {"ABORT", "COMMIT", "KRAFT_VOTERS"}
    old = [line for line in lines if line["file"].startswith("legacy-0/")]
    assert [line["offset"] for line in old if line["type"] == "record"] == list(range(10))
    group = next(line for line in lines if line["file"].startswith("__consumer") and "key" in line)
    assert group["key"] == {"type": "2", "data": {"group": "classic group"}}
    sizes = json.loads(dump.ok("--json", "--raw", "mixed-0").splitlines()[1])
    assert sizes["value"] == "value " * 20


@pytest.mark.parametrize("flag", ["--verify-index-only", "--index-sanity-check"])
def test_s95_of_indexes_only_what_is_wrong(dump: CommandLine, flag: str) -> None:
    path = Path("orders-0/00000000000000000000.timeindex")
    assert dump.ok(flag, str(path)) == f"Dumping {path}\n{path} passed sanity check.\n"
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    done = dump(flag, str(path))
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "S-11" in done.out
    path.with_suffix(".log").unlink()
    assert "No such file" in dump(flag, str(path)).err


def test_no_more_is_read_than_is_asked_for(dump: CommandLine) -> None:
    printed = dump.ok("--max-bytes", "229", "mixed-0")
    assert printed.count("baseOffset") == 1


def test_s05_bytes_at_the_end_that_are_no_batch_are_told(dump: CommandLine) -> None:
    path = Path("mixed-0/00000000000000000007.log")
    path.write_bytes(path.read_bytes()[:-5])
    told = f"Found 92 invalid bytes at the end of {path.name}\n"
    assert dump.ok("mixed-0").endswith(told)
    assert json.loads(dump.ok("--json", "mixed-0").splitlines()[-1])["type"] == "rest"


@pytest.mark.parametrize("arguments", [(), ("--files", ""), ("no such file",)])
def test_files_that_are_not_there(dump: CommandLine, arguments: tuple[str, ...]) -> None:
    assert dump.fails(*arguments).startswith("2: ")


@pytest.mark.parametrize("form", [("--print-data-log",), ("--json",)])
@pytest.mark.parametrize(
    "name",
    [
        "mixed-0/00000000000000000007.log",
        "legacy-0/00000000000000000000.log",
        "orders-0/00000000000000000061.snapshot",
        "orders-0/00000000000000000000.txnindex",
        "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint",
    ],
)
def test_whatever_byte_is_wrong_one_line_tells_it(
    dump: CommandLine, name: str, form: tuple[str, ...]
) -> None:
    """R-04, R-06, S-16, S-17: hostile files; what no checksum covers shows in what is printed."""
    path = Path(name)
    data = path.read_bytes()
    whole = dump.ok(*form, name)
    step = 19 if len(data) < 400 else 61
    for position in range(0, len(data), step):
        path.write_bytes(data[:position] + bytes([data[position] ^ 0xFF]) + data[position + 1 :])
        done = dump(*form, name)
        assert done.code in (0, 1)
        assert done.err.count("\n") == done.code
        assert "Traceback" not in done.err
        assert done.out != whole or done.code == 1, position


@pytest.mark.parametrize("form", [("--deep-iteration",), ("--json",)])
@pytest.mark.parametrize(
    "content",
    [
        batch(b"\xff\xff", count=2),
        batch(b"\xff\xff", count=1, attributes=0x20),
        legacy_wrapper(3, [b"\0" * 30]),
        batch(records(1), count=1, attributes=3),
    ],
    ids=["records", "control", "wrapper", "codec"],
)
def test_r37_records_that_cannot_be_read_under_a_right_checksum(
    dump: CommandLine, content: bytes, form: tuple[str, ...]
) -> None:
    path = Path("mixed-0") / f"{0:020d}.log"
    path.write_bytes(content)
    done = dump(*form, str(path))
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "isvalid: true" in done.out or '"isValid":true' in done.out


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("leader-epoch-checkpoint", b"0\n1\n5\n"),
        ("recovery-point-offset-checkpoint", b"1\n0\n"),
        ("partition.metadata", b"version: 0\n"),
        ("meta.properties", b"version=7\n"),
        ("cleaner-offset-checkpoint", b"\xff"),
    ],
)
def test_s70_small_files_that_are_damaged(dump: CommandLine, name: str, content: bytes) -> None:
    Path(name).write_bytes(content)
    done = dump(name)
    assert (done.code, done.err.count("\n")) == (1, 1)
