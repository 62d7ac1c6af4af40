"""The regular expressions that a group's members subscribe to, and the topics they match.

Kafka matches them in the background, so there the answer to a member's first heartbeat may still
be without them; here they are matched at once, against the topics of the moment.
"""

from broker_lite.coordinator import consumer_changes as changes
from broker_lite.coordinator.consumer_core import ConsumerGroupCore
from broker_lite.coordinator.consumer_state import ResolvedRegex
from broker_lite.coordinator.effects import Effects
from broker_lite.coordinator.subscriptions import InvalidRegularExpression, matching_names


def update_regex(
    group: ConsumerGroupCore, old: str, new: str, effects: Effects, now_ms: int
) -> None:
    """A member that is written already subscribes to another regular expression now.

    Args:
        group: its group.
        old: the one before, "" for none.
        new: valid; "" for none.
        effects: gets the records.
        now_ms: the time.

    Rule: G-100 (maybeUpdateRegularExpressions).
    """
    drop_unused_regex(group, old, effects)
    if new and new not in group.regexes:
        _resolve(group, new, effects, now_ms)


def drop_unused_regex(group: ConsumerGroupCore, regex: str, effects: Effects) -> None:
    """Forget what a regular expression matched, if nobody subscribes to it any more."""
    if regex and not group.subscribers_of_regex(regex):
        changes.drop_regex(group, regex, effects)


def refresh_regexes(group: ConsumerGroupCore, effects: Effects, now_ms: int) -> bool:
    """Match all regular expressions again, after topics were made or deleted.

    Returns:
        Whether one of them matches other topics than before.
    """
    is_changed = False
    # one that Kafka was about to match when it wrote this log is in no record yet
    for regex in sorted(group.subscribed_regexes):
        is_changed |= _resolve(group, regex, effects, now_ms)
    return is_changed


def _resolve(group: ConsumerGroupCore, regex: str, effects: Effects, now_ms: int) -> bool:
    old = group.regexes.get(regex)
    try:
        names = matching_names(regex, group.topics)
    except InvalidRegularExpression:  # too large for so many topics by now
        return False
    if old is not None and old.topics == names:
        return False
    version = old.version + 1 if old is not None else 1
    changes.put_regex(group, regex, ResolvedRegex(names, version, now_ms), effects)
    return True
