"""`broker-lite explain`: what it prints of files, texts and segments."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from broker_lite.record.legacy.message_builder import encode_message
from broker_lite.wire import messages
from tests.explain.test_frames import produce, sized
from tests.log.batches import batch, gzipped, record, records
from tests.support.command_line import CommandLine

GOOD = batch(records(1))
SEGMENT = "00000000000000000040.log"
TABLE = """\
batch
offset  size  type     field                                  value
     0     8  int64    batches[0].base_offset                 0
     8     4  int32    batches[0].length                      58
    12     4  int32    batches[0].leader_epoch                -1
    16     1  int8     batches[0].magic                       2
    17     4  uint32   batches[0].crc                         1 (0x00000001) [refused]
        ^ V-20: the CRC-32C of the bytes is 0xe99b8dd8, the batch says 0x00000001;\
 expected 0xe99b8dd8; got 0x00000001
    21     2  int16    batches[0].attributes                  0 (none, CreateTime) [not read]
"""


@pytest.fixture
def explain(command: CommandLine) -> CommandLine:
    return command.of("explain")


@pytest.fixture
def file(tmp_path: Path) -> Any:
    """Writes a file and returns its name."""

    def write(data: bytes, name: str = "bytes.bin") -> str:
        path = tmp_path / name
        path.write_bytes(data)
        return str(path)

    return write


def objects(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def test_a_refused_batch(explain: CommandLine, file: Any) -> None:
    code, out, err = explain(file(batch(records(1), crc=1)))
    assert (code, err) == (1, "")
    assert out.startswith(TABLE)
    assert out.endswith(
        "\n\nrefused at batches[0].crc: CORRUPT_MESSAGE (2): V-20: the CRC-32C of the bytes is"
        " 0xe99b8dd8, the batch says 0x00000001\n"
    )


def test_a_good_batch_with_a_part(explain: CommandLine, file: Any) -> None:
    out = explain.ok(file(gzipped(record(value=b"\xff" * 300, key=b"a\nb"))))
    assert out.endswith("\n\nnothing is refused\n")
    assert "\n\nbatches[0].records: 312 bytes when decompressed (gzip)\noffset  size" in out
    lines = [line.split(maxsplit=4) for line in out.splitlines()]
    values = {line[3]: line[4] for line in lines if len(line) == 5}
    assert values["batches[0].records[0].key"] == r'"a\nb"'
    assert values["batches[0].records[0].value"] == "0x" + "ff" * 256 + " ... 44 more"


def test_json(explain: CommandLine, file: Any) -> None:
    (found,) = objects(explain.ok(file(GOOD), "--json"))
    assert (found["kind"], found["refused"], found["records"]) == ("batch", None, None)
    assert found["fields"][0] == {
        "offset": 0,
        "size": 8,
        "type": "int64",
        "path": "batches[0].base_offset",
        "value": 0,
    }


def test_limits(explain: CommandLine, file: Any) -> None:
    limits = ("--fields-max", "5", "--value-max", "3")
    (found,) = objects(explain.ok(file(GOOD), "--json", *limits))
    assert len(found["fields"]) == 6
    assert found["fields"][5]["left_out"] == 49 - 3
    assert explain.ok(file(GOOD), *limits).endswith(
        "nothing is refused\nthe list is full; ask for more fields to see the rest\n"
    )


def test_text_and_standard_input(explain: CommandLine, file: Any) -> None:
    plain = explain.ok(file(GOOD))
    text = GOOD.hex(" ").encode() + b"\n"
    encoded = base64.b64encode(GOOD)
    assert explain.ok(file(text)) == plain
    assert explain.ok(file(text), "--hex") == plain
    assert explain.ok(file(encoded), "--base64") == plain
    assert explain.ok("-", typed=text.decode()) == plain


def test_frames(explain: CommandLine, file: Any) -> None:
    frame = file(sized(produce(GOOD)))
    (found,) = objects(explain.ok(frame, "--json"))
    assert found["kind"] == "request"
    assert objects(explain.ok(frame, "--json", "--kind", "request", "--size-prefix", "yes")) == [
        found
    ]
    code, out, _ = explain(frame, "--kind", "request", "--size-prefix", "no")
    assert code == 1
    assert "the connection is closed: P-10" in out


def test_responses(explain: CommandLine, file: Any) -> None:
    body = messages.FetchResponse.encode(messages.FetchResponse(), 4)
    frame = file((7).to_bytes(4, "big") + body)
    (found,) = objects(explain.ok(frame, "--json", "--response", "fetch:4"))
    assert found["kind"] == "response"
    assert explain.fails(frame, "--kind", "response") == (
        f"2: {frame}: of which API is the response? --response API:VERSION tells it"
    )
    assert explain.fails(frame, "--response", "fetch:99").endswith("write fetch:18")


def segment() -> bytes:
    three = (batch(records(2), count=2, base_offset=offset) for offset in (40, 42, 44))
    return b"".join(three) + encode_message(46, 1, 0, 0, b"k", b"v")


def positions(output: str) -> list[int]:
    return [found["fields"][0]["offset"] for found in objects(output)]


def test_segments(explain: CommandLine, file: Any) -> None:
    path = file(segment(), SEGMENT)
    size = 61 + 18
    assert positions(explain.ok(path, "--json")) == [0]
    assert positions(explain.ok(path, "--json", "--position", str(size))) == [size]
    assert positions(explain.ok(path, "--json", "--offset", "45")) == [2 * size]
    assert positions(explain.ok(path, "--json", "--offset", "46")) == [3 * size]
    assert positions(explain.ok(path, "--json", "--all")) == [0, size, 2 * size, 3 * size]
    other = file(segment())
    assert positions(explain.ok(other, "--json", "--kind", "segment")) == [0]
    assert explain.ok(path).startswith("segment\n")


def test_a_batch_of_a_segment_as_if_it_was_produced(explain: CommandLine, file: Any) -> None:
    out = explain.ok(file(segment(), SEGMENT), "--produced", "--offset", "43")
    assert out.endswith(
        "nothing is refused\njudged as if a producer sent it, with the base offset 0\n"
    )


def test_the_damaged_end_of_a_segment(explain: CommandLine, file: Any) -> None:
    for end in (GOOD[:30], GOOD[:5], bytes(40), batch(records(1), crc=1)):
        path = file(segment() + end, SEGMENT)
        code, out, _ = explain(path, "--all", "--json")
        *_, last = objects(out)
        assert last["fields"][0]["offset"] == len(segment())
        assert sum(each["size"] for each in last["fields"]) == len(end)
        assert code == int(last["refused"] is not None)


def test_topic_configs(explain: CommandLine, file: Any) -> None:
    path = file(batch(record(key=None)))
    explain.ok(path)
    code, out, _ = explain(path, "--topic-config", "cleanup.policy=compact")
    assert code == 1
    assert "expected a key, because the topic is compacted; got null" in out
    assert explain.fails(path, "--topic-config", "a") == "2: --topic-config a: write NAME=VALUE"
    assert explain.fails(path, "--topic-config", "a=b") == (
        "2: --topic-config: topics have no config 'a'"
    )
    assert explain.fails(path, "--topic-config", "max.message.bytes=x").startswith(
        "2: --topic-config: Invalid value x"
    )


def test_mistakes(explain: CommandLine, file: Any, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    assert explain.fails(missing) == f"2: {missing}: No such file or directory"
    assert explain.fails(missing, "--all") == f"2: {missing}: No such file or directory"
    assert explain.fails(str(tmp_path)) == f"2: {tmp_path}: Is a directory"
    path = file(segment(), SEGMENT)
    assert explain.fails(path, "--offset", "47") == f"2: {path}: no batch has the offset 47"
    assert explain.fails(path, "--position", "999") == (
        f"2: {path}: the file ends before position 999"
    )
    assert explain.fails(path, "--position", "-1") == f"2: {path}: -1 is no position in a file"
    path = file(b"")
    assert explain.fails(path, "--kind", "batch") == f"2: {path}: there are no bytes"
    assert explain.fails(path) == (
        f"2: {path}: neither a request nor a batch begins like this; say which it is"
    )


def test_too_many_bytes(explain: CommandLine, file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broker_lite.commands.explain._INPUT_BYTES_MAX", 10)
    path = file(GOOD)
    assert explain.fails(path) == f"2: {path}: more than 10 bytes are no frame and no batch"
