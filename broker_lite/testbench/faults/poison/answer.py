"""The action `poison`: the first partition of a Fetch answer that a rule chooses is spoiled."""

from collections.abc import Iterator
from typing import Any, Final

from broker_lite.handler.error_places import ROWS
from broker_lite.record.batch import parse_header
from broker_lite.testbench.facts import Facts
from broker_lite.testbench.faults.answers import Answer
from broker_lite.testbench.faults.entities import named_by
from broker_lite.testbench.faults.poison.changes import poisoned
from broker_lite.testbench.faults.problems import CannotApply
from broker_lite.testbench.selectors import Matcher, Named

_FETCH: Final = 1


def poison(answer: Answer, name: str, matcher: Matcher, facts: Facts) -> None:
    """Spoil the first batch of the first chosen partition that has records.

    Args:
        answer: of a Fetch.
        name: of the poison.
        matcher: of the rule.
        facts: of the request.

    Raises:
        CannotApply: it is no Fetch, or no chosen partition has records that can be spoiled so.
    """
    if facts.request.api_key != _FETCH:
        raise CannotApply("only a Fetch answer has records")
    for partition in _chosen(answer, matcher, facts):
        records = partition.records
        if records:
            partition.records = poisoned(name, records)
            if name == "open-transaction":
                partition.last_stable_offset = parse_header(records).base_offset
            return
    raise CannotApply("the answer has no records of what is chosen")


def _chosen(answer: Answer, matcher: Matcher, facts: Facts) -> Iterator[Any]:
    level = ROWS[_FETCH][0].levels[0]
    topics: list[Any] = getattr(answer.body, "responses", [])
    for topic in topics:
        named = named_by(level, Named(), (topic.topic, topic.topic_id), facts.topic_name)
        for partition in topic.partitions:
            if matcher.chooses(named._replace(partition=partition.partition_index)):
                yield partition
