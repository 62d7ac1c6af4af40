"""Deletes the internal topics of streams groups, and tells what became of that.

A topic counts as internal by its name, as in Kafka's tool: a topology may name any topic.

Source: StreamsGroupCommand.
"""

import re
from collections.abc import Collection, Iterable
from typing import Final

from broker_lite.client import Client, Refused
from broker_lite.client.admin.streams_group_admin import (
    DescribedStreams,
    describe_streams_group,
    internal_topics,
    source_topics,
)
from broker_lite.commands.shared.kafka_errors import exception_line
from broker_lite.errors import ErrorCode
from broker_lite.wire import messages

_INTERNAL: Final = re.compile(
    r".*(?:-changelog|-repartition|-subscription-registration-topic|-subscription-response-topic)"
    r"|.+-KTABLE-FK-JOIN-SUBSCRIPTION-(?:REGISTRATION|RESPONSE)-\d+-topic",
    re.DOTALL,
)
_TIMEOUT_MS: Final = 30_000


def deletable_topics(group: DescribedStreams) -> list[str]:
    """Return the internal topics of a group, sorted; print those that do not look like such."""
    found = []
    for name in sorted(internal_topics(group) - source_topics(group)):
        if name.startswith(f"{group.group_id}-") and _INTERNAL.fullmatch(name):
            found.append(name)
        else:
            print(
                f"\nError: The internal topic '{name}' is not inferred as internal and thus will"
                f" not be deleted with the group '{group.group_id}'."
            )
    return found


def delete_topics(client: Client, names: Collection[str]) -> dict[str, Refused]:
    """Delete topics; return the errors of those that were not deleted."""
    request = messages.DeleteTopicsRequest
    value = request(
        topics=[request.DeleteTopicState(name=name) for name in names],
        topic_names=[*names],
        timeout_ms=_TIMEOUT_MS,
    )
    answer = client.request(value, node_id=client.controller_id())
    return {
        str(each.name): Refused(f"topic {each.name}", each.error_code, each.error_message)
        for each in answer.responses
        if each.error_code
    }


def delete_after_reset(client: Client, group: str, names: Collection[str]) -> None:
    """Delete internal topics of a group whose offsets were reset; print what fails."""
    failed = delete_topics(client, names) if names else {}
    for error in failed.values():
        what = f"Deleting internal topics for group '{group}' failed"
        if error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            print(f"\nError: {what} because the topics do not exist.")
        else:
            print(f"\nError: {what} due to {exception_line(error.code, error.message)}")
        return


class InternalTopics:
    """The internal topics of groups that are deleted."""

    def __init__(self, client: Client) -> None:
        """Begin with none."""
        self._client = client
        self._topics: dict[str, list[str]] = {}
        self._failed: dict[str, Refused] = {}
        self._is_tried = False

    def find(self, groups: Iterable[str]) -> None:
        """Find the topics of groups; one that cannot be described has none."""
        for group in groups:
            try:
                found = deletable_topics(describe_streams_group(self._client, group))
            except Refused as error:
                line = exception_line(error.code, error.message)
                print(f"\nError: Retrieving internal topics failed due to {line}")
                return
            if found:
                self._topics[group] = found

    def delete(self) -> None:
        """Delete the topics."""
        self._is_tried = True
        for group, names in self._topics.items():
            errors = delete_topics(self._client, names)
            for name in errors:
                print(f"Failed to delete internal topic: {name}")
            if errors:
                self._failed[group] = next(iter(errors.values()))

    def print_result(self) -> None:
        """Print whether that went well."""
        if not self._topics or not self._is_tried:
            return
        if not self._failed:
            names = "', '".join(self._topics)
            print(
                "Deletion of associated internal topics of the streams groups"
                f" ('{names}') was successful."
            )
            return
        print("Deletion of some associated internal topics failed:")
        for group, error in self._failed.items():
            line = exception_line(error.code, error.message)
            print(
                f"* Internal topics of the streams group '{group}' could not be deleted due to:"
                f" {line}"
            )
