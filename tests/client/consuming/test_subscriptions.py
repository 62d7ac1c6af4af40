import re

from broker_lite.client import Client
from broker_lite.client.consuming.fetcher import EARLIEST, Fetcher
from broker_lite.client.consuming.subscriptions import (
    AllPartitions,
    GroupPartitions,
    OnePartition,
    matching_topics,
    one_topic,
)
from tests.client.group_support import make_topic, new_member


def test_one_partition(bootstrap: str) -> None:
    with Client(bootstrap) as client:
        fetcher = Fetcher(client, reset=EARLIEST)
        subscription = OnePartition(("t", 3), 7)
        subscription.keep(fetcher, 0)
        assert fetcher.positions == {("t", 3): 7}
        fetcher.positions["t", 3] = 9
        subscription.keep(fetcher, 0)
        assert fetcher.positions == {("t", 3): 9}
        subscription.consumed(("t", 3), 9)
        subscription.close()


def test_all_partitions_of_topics_that_match(bootstrap: str, topic: str) -> None:
    with Client(bootstrap) as client:
        for name in (f"{topic}-a", f"{topic}-b", f"{topic}-bb"):
            make_topic(client, name, 2)
        fetcher = Fetcher(client, reset=EARLIEST)
        choose = matching_topics(client, re.compile(f"{topic}-.|__.*"))
        subscription = AllPartitions(choose)
        subscription.keep(fetcher, 0)
        assert fetcher.positions == {
            (f"{topic}-{name}", number): None for name in "ab" for number in (0, 1)
        }
        subscription.keep(fetcher, 0)  # too early to ask again
        subscription.consumed((f"{topic}-a", 0), 1)
        subscription.close()


def test_a_group_s_partitions(bootstrap: str, topic: str) -> None:
    with Client(bootstrap) as client:
        make_topic(client, topic, 2)
        member = new_member(client, topic, topic)
        fetcher = Fetcher(client, reset=EARLIEST)
        subscription = GroupPartitions(one_topic(client, topic, create=False), member)
        while not fetcher.positions:
            subscription.keep(fetcher, 0.01)
        assert fetcher.positions == {(topic, 0): None, (topic, 1): None}
        fetcher.poll(0.01)
        subscription.consumed((topic, 1), 0)
        subscription.keep(fetcher, 0)
        assert member.consumed == {(topic, 0): 0, (topic, 1): 0}
        subscription.close()
