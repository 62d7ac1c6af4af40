"""S-75, S-76: the small files beside the metadata log."""

import json
from pathlib import Path

import pytest

from broker_lite.control.metadata import metadata_records as kinds
from broker_lite.control.metadata.quorum_files import (
    claim_directory,
    mend_bootstrap_checkpoint,
    tell_of_quorum_state,
    write_bootstrap_checkpoint,
    write_quorum_state,
)
from broker_lite.errors import KafkaStorageError
from broker_lite.record.records import iterate_records
from tests.control.metadata_files import stored

NOW_MS = 1_700_000_000_000
FEATURES = {"group.version": 1, "metadata.version": 25}
ID_TEXT = "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"
OTHER_ID_TEXT = "version: 0\ntopic_id: AQIDBAUGBwgJCgsMDQ4PEA"


def test_s75_the_directory_of_the_metadata_log_says_so(tmp_path: Path) -> None:
    for _ in range(2):
        claim_directory(str(tmp_path))
        assert (tmp_path / "partition.metadata").read_text() == ID_TEXT


def test_s75_a_directory_of_another_topic_is_not_the_metadata_logs(tmp_path: Path) -> None:
    (tmp_path / "partition.metadata").write_text(OTHER_ID_TEXT)
    with pytest.raises(KafkaStorageError, match="AQIDBAUGBwgJCgsMDQ4PEA"):
        claim_directory(str(tmp_path))
    assert (tmp_path / "partition.metadata").read_text() == OTHER_ID_TEXT


def test_s75_a_topic_id_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "partition.metadata.tmp").mkdir()
    with pytest.raises(KafkaStorageError):
        claim_directory(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "it is missing"),
        ("", "it names no leader epoch"),
        ("[]", "it names no leader epoch"),
        ('{"leaderEpoch":3,"currentVoters":[{"voterId":8}]}', "it has other voters than node 7"),
        ('{"leaderEpoch":3,"currentVoters":[{"voterId":7}]}', None),
        # as a Kafka 4.3.1 writes it at kraft.version 1
        ('{"leaderId":7,"leaderEpoch":3,"votedId":-1,"data_version":1}', None),
    ],
)
def test_s76_a_lost_quorum_state_is_told(
    tmp_path: Path, text: str | None, reason: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    if text is not None:
        (tmp_path / "quorum-state").write_text(text)
    tell_of_quorum_state(str(tmp_path), 7)
    expected = f"quorum-state is recreated path={tmp_path}/quorum-state reason={reason}"
    assert caplog.messages == ([expected] if reason else [])
    write_quorum_state(str(tmp_path), 7, 4)
    assert json.loads((tmp_path / "quorum-state").read_text())["leaderEpoch"] == 4
    caplog.clear()
    tell_of_quorum_state(str(tmp_path), 7)
    assert caplog.messages == []


def test_s76_a_quorum_state_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "quorum-state").mkdir()
    with pytest.raises(KafkaStorageError):
        tell_of_quorum_state(str(tmp_path), 7)
    with pytest.raises(KafkaStorageError):
        write_quorum_state(str(tmp_path), 7, 1)


def test_the_bootstrap_checkpoint_is_header_features_footer(tmp_path: Path) -> None:
    write_bootstrap_checkpoint(
        tmp_path, {"group.version": 1, "metadata.version": 25}, now_ms=NOW_MS
    )
    header, features, footer = stored(tmp_path / "bootstrap.checkpoint")
    assert [batch.base_offset for batch in (header, features, footer)] == [0, 1, 3]
    names = [kinds.decode(record.value or b"").value.name for record in iterate_records(features)]
    assert names == ["metadata.version", "group.version"]
    # as a Kafka 4.3.1 writes them
    assert [record.value for record in iterate_records(header)] == [bytes(11)]
    assert [record.value for record in iterate_records(footer)] == [bytes(3)]


def test_a_checkpoint_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(KafkaStorageError):
        write_bootstrap_checkpoint(tmp_path / "none", {}, now_ms=NOW_MS)


@pytest.mark.parametrize(
    ("data", "reason"),
    [(None, "it is missing"), (b"", "it ends before its footer"), (b"x" * 90, "Invalid magic")],
)
def test_a_lost_bootstrap_checkpoint_is_made_anew_and_told(
    tmp_path: Path, data: bytes | None, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "bootstrap.checkpoint"
    if data is not None:
        path.write_bytes(data)
    for _ in range(2):
        mend_bootstrap_checkpoint(tmp_path, FEATURES, now_ms=NOW_MS)
    (line,) = caplog.messages
    assert line.startswith(f"bootstrap.checkpoint is recreated path={path} reason={reason}")
    assert len(stored(path)) == 3


def test_a_bootstrap_checkpoint_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "bootstrap.checkpoint").mkdir()
    with pytest.raises(KafkaStorageError):
        mend_bootstrap_checkpoint(tmp_path, FEATURES, now_ms=NOW_MS)
