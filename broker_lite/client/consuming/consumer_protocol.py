"""The consumer group protocol: members send heartbeats, and the broker assigns (KIP-848)."""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Mapping
from typing import Final

from broker_lite.client.consuming.group_member import (
    LOST_MEMBERSHIP,
    NO_GENERATION,
    REBALANCE_TIMEOUT_MS,
    Membership,
)
from broker_lite.client.errors import check
from broker_lite.client.partition_offsets import by_topic
from broker_lite.client.topic_partitions import Topic, TopicPartition, find_topics
from broker_lite.wire import messages

_JOIN: Final = 0
_LEAVE: Final = -1
_LEAVE_FOR_A_WHILE: Final = -2  # a static member that will come back


class ConsumerProtocol:
    """Keeps a member in a group whose partitions the broker assigns."""

    def __init__(self, membership: Membership) -> None:
        """Keep the membership; step() joins."""
        self._me = membership
        self._wanted: list[str] | None = None
        self._told: frozenset[TopicPartition] | None = None
        self._heartbeat_at_s = 0.0

    def subscription_changed(self, before: Mapping[str, Topic]) -> None:
        """Tell the broker if the names differ; it notices new partitions itself."""
        if before.keys() != self._me.topics.keys():
            self._wanted = sorted(self._me.topics)
            self._heartbeat_at_s = 0.0

    def step(self, wait_s: float) -> None:
        """Send a heartbeat if one is due, and apply the response."""
        if time.monotonic() < self._heartbeat_at_s:
            return
        if self._me.generation == NO_GENERATION:
            self._begin()
        answer = self._me.connection().request(self._heartbeat())
        if answer.error_code in LOST_MEMBERSHIP:
            self._me.assign(frozenset())
            self._me.generation = NO_GENERATION
            return
        check(f"group {self._me.group}", answer.error_code, answer.error_message)
        self._told, self._wanted = self._me.assignment, None
        self._me.member_id = answer.member_id or self._me.member_id
        self._me.generation = answer.member_epoch
        self._heartbeat_at_s = time.monotonic() + answer.heartbeat_interval_ms / 1000
        if answer.assignment is not None:
            self._take(answer.assignment)

    def _begin(self) -> None:
        """Prepare to join: with a member id, the whole subscription, and no partitions."""
        self._me.member_id = (
            self._me.member_id or base64.urlsafe_b64encode(os.urandom(16)).decode()[:22]
        )
        self._me.generation = _JOIN
        self._wanted = sorted(self._me.topics)
        self._told = None

    def _heartbeat(self) -> messages.ConsumerGroupHeartbeatRequest:
        """Make a heartbeat; all but the first have only what has changed."""
        request = messages.ConsumerGroupHeartbeatRequest
        joining = self._me.generation == _JOIN
        owned = None
        if self._told != self._me.assignment:
            owned = [
                request.TopicPartitions(topic_id=self._me.topics[name].topic_id, partitions=numbers)
                for name, numbers in by_topic(self._me.assignment).items()
            ]
        return request(
            group_id=self._me.group,
            member_id=self._me.member_id,
            member_epoch=self._me.generation,
            instance_id=self._me.instance_id if joining else None,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS if joining else -1,
            subscribed_topic_names=self._wanted,
            topic_partitions=owned,
        )

    def _take(self, target: messages.ConsumerGroupHeartbeatResponse.Assignment) -> None:
        """Switch to the target assignment, and confirm it with a heartbeat."""
        ids = {topic.topic_id for topic in target.topic_partitions}
        names = {topic.topic_id: name for name, topic in self._me.topics.items()}
        if not ids <= names.keys():
            self._me.topics = find_topics(self._me.client, self._me.topics)
            names = {topic.topic_id: name for name, topic in self._me.topics.items()}
        assignment = frozenset(
            (names[topic.topic_id], number)
            for topic in target.topic_partitions
            if topic.topic_id in names
            for number in topic.partitions
        )
        if assignment != self._me.assignment:
            self._me.commit()
            self._me.assign(assignment)
            self._heartbeat_at_s = 0.0

    def leave(self) -> None:
        """Leave the group with a last heartbeat."""
        epoch = _LEAVE if self._me.instance_id is None else _LEAVE_FOR_A_WHILE
        value = messages.ConsumerGroupHeartbeatRequest(
            group_id=self._me.group,
            member_id=self._me.member_id,
            member_epoch=epoch,
            instance_id=self._me.instance_id,
        )
        self._me.connection().request(value)

    def reader(self) -> tuple[str | None, int]:
        """Return the member id and epoch with which to ask for committed offsets."""
        return self._me.member_id, self._me.generation
