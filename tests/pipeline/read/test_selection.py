import re

import pytest

from broker_lite.pipeline.read.selection import ALL_TOPICS, Assigned, TopicPattern, Topics

OFFSETS = "__consumer_offsets"


@pytest.mark.parametrize(
    ("selection", "wanted", "unwanted", "missing"),
    [
        (ALL_TOPICS, [("a", 0), ("__mine", 3)], [(OFFSETS, 0)], []),
        (
            Topics(frozenset(("a", "b", OFFSETS))),
            [("a", 0), ("a", 9), (OFFSETS, 0)],
            [("ab", 0)],
            ["b"],
        ),
        (TopicPattern(re.compile("a|^b")), [("xay", 0), ("bcd", 1)], [("xb", 0)], []),
        (TopicPattern(re.compile(".*")), [("a", 0)], [(OFFSETS, 0)], []),
        (
            Assigned(frozenset((("a", 0), ("b", 10), ("b", 2)))),
            [("a", 0)],
            [("a", 1)],
            ["b-2", "b-10"],
        ),
    ],
    ids=["all", "subscribe", "pattern", "pattern-internal", "assign"],
)
def test_what_is_read_and_what_is_missing(selection, wanted, unwanted, missing):
    assert all(selection.wants(*partition) for partition in wanted)
    assert not any(selection.wants(*partition) for partition in unwanted)
    assert selection.missing(wanted) == missing
