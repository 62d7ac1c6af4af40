"""Streams groups as an administrator sees them."""

import pytest

from broker_lite.client import Client, Refused
from broker_lite.client.admin.streams_group_admin import (
    describe_streams_group,
    internal_topics,
    repartition_topics,
    source_topics,
)
from broker_lite.wire import messages

_Answer = messages.StreamsGroupDescribeResponse


def test_the_topics_of_a_topology() -> None:
    part = _Answer.Subtopology(
        subtopology_id="0",
        source_topics=["words"],
        repartition_source_topics=[_Answer.TopicInfo(name="r")],
        state_changelog_topics=[_Answer.TopicInfo(name="c")],
    )
    group = _Answer.DescribedGroup(topology=_Answer.Topology(epoch=0, subtopologies=[part]))
    assert source_topics(group) == {"words"}
    assert repartition_topics(group) == {"r"}
    assert internal_topics(group) == {"r", "c"}
    for topology in (None, _Answer.Topology(epoch=0, subtopologies=None)):
        assert source_topics(_Answer.DescribedGroup(topology=topology)) == set()
        assert internal_topics(_Answer.DescribedGroup(topology=topology)) == set()


def test_a_group_that_is_not_there(bootstrap: str) -> None:
    with (
        Client(bootstrap) as client,
        pytest.raises(Refused, match="GROUP_ID_NOT_FOUND: Group nobody not found"),
    ):
        describe_streams_group(client, "nobody")
