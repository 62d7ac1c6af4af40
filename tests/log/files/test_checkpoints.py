"""S-70, S-75, S-76, S-77."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.log.files.checkpoints import (
    CorruptCheckpoint,
    MetaProperties,
    format_clean_shutdown,
    format_meta_properties,
    format_offsets,
    format_partition_metadata,
    format_uuid,
    parse_clean_shutdown,
    parse_meta_properties,
    parse_offsets,
    parse_partition_metadata,
    parse_uuid,
    read_file,
    replace_file,
    stored_offsets,
)
from tests.support.disk import Disk

TOPIC_ID = bytes.fromhex("cb99793f325f4d389788 8fe2afc21c8d".replace(" ", ""))


def test_offsets() -> None:
    """S-70, TV-67."""
    text = "0\n2\nvg 0 11\n__transaction_state 0 22\n"
    offsets = {("vg", 0): 11, ("__transaction_state", 0): 22}
    assert parse_offsets(text) == offsets
    assert format_offsets(offsets) == text
    assert parse_offsets("") == {}
    assert format_offsets({}) == "0\n0\n"


def test_the_last_line_of_a_partition_counts() -> None:
    assert parse_offsets("0\n2\nt 0 1\nt 0 2\n") == {("t", 0): 2}


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "0\n",
        "1\n0\n",
        "x\n0\n",
        "0\n1\n",
        "0\n0\nt 0 1\n",
        "0\n-1\n",
        "0\nx\n",
        "0\n1\nt 0\n",
        "0\n1\nt 0 1 2\n",
        "0\n1\nt  0 1\n",
        "0\n1\nt 0 x\n",
        "0\n1\nt 0 1_0\n",
        "0\n1\nt 0 9223372036854775808\n",
        "0\n1\nt 0 1\n\n",
    ],
)
def test_malformed_offsets(text: str) -> None:
    """S-70."""
    with pytest.raises(CorruptCheckpoint):
        parse_offsets(text)


@settings(max_examples=100, deadline=None)
@given(st.text("0123 -t\n", max_size=30))
def test_any_offsets_parse_or_are_corrupt(text: str) -> None:
    try:
        offsets = parse_offsets("0\n" + text)
    except CorruptCheckpoint:
        return
    assert parse_offsets(format_offsets(offsets)) == offsets


def test_partition_metadata() -> None:
    """S-75, TV-67."""
    text = "version: 0\ntopic_id: y5l5PzJfTTiXiI_ir8IcjQ"
    assert len(text) == 43
    topic_id = parse_partition_metadata(text)
    assert len(topic_id) == 16
    assert format_partition_metadata(topic_id) == text
    assert parse_partition_metadata(text + "\n") == topic_id


@pytest.mark.parametrize(
    "text",
    [
        "",
        "version: 0",
        "topic_id: y5l5PzJfTTiXiI_ir8IcjQ",
        "version: 1\ntopic_id: y5l5PzJfTTiXiI_ir8IcjQ",
        "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA",
        "version: 0\ntopic_id: y5l5PzJfTTiXiI_ir8Ic",
        "version: 0\ntopic_id: y5l5PzJfTTiXiI/ir8IcjQ\xe9",
        "version: 0\ntopic_id: not an id at all here",
    ],
)
def test_malformed_partition_metadata(text: str) -> None:
    """S-75."""
    with pytest.raises(CorruptCheckpoint):
        parse_partition_metadata(text)


@settings(max_examples=50, deadline=None)
@given(st.binary(min_size=16, max_size=16))
def test_ids_read_back(value: bytes) -> None:
    assert len(format_uuid(value)) == 22
    assert parse_uuid(format_uuid(value)) == value


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=30))
def test_any_id_parses_or_is_corrupt(text: str) -> None:
    try:
        assert len(parse_uuid(text)) == 16
    except CorruptCheckpoint:
        return


def test_meta_properties() -> None:
    """S-76, TV-67."""
    text = (
        "#\n#Sat Nov 21 10:26:17 UTC 2026\nnode.id=1\ndirectory.id=BtLXEHO52kllEiPITUs18A\n"
        "version=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qk\n"
    )
    meta = MetaProperties(
        cluster_id="MkU3OEVBNTcwNTJENDM2Qk", node_id=1, directory_id="BtLXEHO52kllEiPITUs18A"
    )
    assert parse_meta_properties(text) == meta
    assert parse_meta_properties(format_meta_properties(meta)) == meta


def test_old_meta_properties() -> None:
    """S-76."""
    old = "broker.id = 7\n! a remark\n\ncluster.id=a\\=b\n"
    expected = MetaProperties(cluster_id="a=b", node_id=7, directory_id="")
    assert parse_meta_properties(old) == expected
    assert parse_meta_properties("version=0\nbroker.id=7").cluster_id == ""


@pytest.mark.parametrize(
    "text", ["", "version=2\nnode.id=1", "version=1\nbroker.id=1", "node.id=x"]
)
def test_malformed_meta_properties(text: str) -> None:
    """S-76."""
    with pytest.raises(CorruptCheckpoint):
        parse_meta_properties(text)


def test_clean_shutdown() -> None:
    """S-77, TV-67."""
    assert format_clean_shutdown(3149) == '{"version":0,"brokerEpoch":3149}'


@pytest.mark.parametrize("text", ["{}", '["brokerEpoch"]', '"brokerEpoch"', "brokerEpoch", "7"])
def test_s77_other_marks_of_a_clean_stop(text: str) -> None:
    with pytest.raises(CorruptCheckpoint):
        parse_clean_shutdown(text)


@pytest.mark.parametrize("text", [None, "", "null", '{"version":0,"brokerEpoch":3149}'])
def test_s77_marks_of_a_clean_stop(text: str | None) -> None:
    parse_clean_shutdown(text)


def test_files(tmp_path: Path) -> None:
    """S-70: written beside, then renamed."""
    path = tmp_path / "recovery-point-offset-checkpoint"
    assert read_file(path) is None
    for text in ("0\n0\n", "0\n1\nt 0 1\n"):
        replace_file(path, text)
        assert read_file(path) == text
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    path.write_bytes(b"\xff")
    with pytest.raises(CorruptCheckpoint):
        read_file(path)


def test_s70_a_missing_checkpoint_has_no_offsets_and_an_empty_one_is_damage(
    tmp_path: Path,
) -> None:
    path = tmp_path / "replication-offset-checkpoint"
    assert stored_offsets(path) == {}
    with pytest.raises(CorruptCheckpoint, match="missing"):
        stored_offsets(path, is_due=True)
    path.write_text("")
    for is_due in (True, False):
        with pytest.raises(CorruptCheckpoint, match="empty"):
            stored_offsets(path, is_due=is_due)
    path.write_text("0\n1\nt 0 7\n")
    for is_due in (True, False):
        assert stored_offsets(path, is_due=is_due) == {("t", 0): 7}


def test_a_failed_write_leaves_the_old_content(tmp_path: Path) -> None:
    """S-70."""
    path = tmp_path / "checkpoint"
    replace_file(path, "old")
    (tmp_path / "checkpoint.tmp").mkdir()
    with pytest.raises(OSError, match=r"checkpoint\.tmp"):
        replace_file(path, "new")
    assert read_file(path) == "old"


def test_s70_content_and_name_are_made_durable_in_this_order(tmp_path: Path, disk: Disk) -> None:
    """S-70: a name that reaches the disk before its content would be an empty file."""
    path = tmp_path / "checkpoint"
    synced: list[tuple[str, bool]] = []

    def note(descriptor: int) -> None:
        synced.append((os.readlink(f"/proc/self/fd/{descriptor}"), path.exists()))

    disk.answer("fsync", note)
    replace_file(path, "new")
    assert synced == [(f"{path}.tmp", False), (str(tmp_path), True)]
