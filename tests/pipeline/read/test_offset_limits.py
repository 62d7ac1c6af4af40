import pytest

from broker_lite.pipeline.read.offset_limits import (
    AtOffsets,
    AtTimestamps,
    parse_assignment,
    parse_offsets,
    parse_timestamps,
)

OFFSETS = r'^expected JSON such as \{"topic": \{"0": 23, "1": -1\}\}'


def test_offsets_by_topic_and_partition():
    found = parse_offsets('{"a": {"0": 23, "1": -1}, "b": {"0": -2}, "c": {}}')
    assert found == AtOffsets({("a", 0): 23, ("a", 1): -1, ("b", 0): -2})


def test_timestamps_by_topic_and_partition():
    found = parse_timestamps('{"a": {"0": 1700000000000, "12": -5}}')
    assert found == AtTimestamps({("a", 0): 1_700_000_000_000, ("a", 12): -5})


def test_partitions_by_topic():
    assert parse_assignment('{"a": [0, 2], "b": [1]}') == {("a", 0), ("a", 2), ("b", 1)}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[" * 100_000,
        "[]",
        "7",
        '{"a": 1}',
        '{"a": [0]}',
        '{"a": {"x": 1}}',
        '{"a": {"-1": 1}}',
        '{"a": {"²": 1}}',
        '{"a": {"2147483648": 1}}',
        '{"a": {"0": "1"}}',
        '{"a": {"0": 1.5}}',
        '{"a": {"0": true}}',
        '{"a": {"0": null}}',
        '{"a": {"0": 9223372036854775808}}',
    ],
)
def test_other_texts_are_no_offsets(text):
    with pytest.raises(ValueError, match=OFFSETS):
        parse_offsets(text)


def test_only_two_negative_offsets_have_a_meaning():
    with pytest.raises(ValueError, match=r"^-3 is no offset, only -2 is below -1"):
        parse_offsets('{"a": {"0": -3}}')


@pytest.mark.parametrize("text", ["x", '{"a": 0}', '{"a": {"0": 1}}', '{"a": [-1]}', '{"a": [""]}'])
def test_other_texts_are_no_assignment(text):
    with pytest.raises(ValueError, match=r'^expected JSON such as \{"topic": \[0, 1\]\}'):
        parse_assignment(text)


@pytest.mark.parametrize("text", ["{}", '{"a": []}'])
def test_an_assignment_names_a_partition(text):
    with pytest.raises(ValueError, match=r"^no partition is named"):
        parse_assignment(text)
