"""The regular expressions that a group's members subscribe to, and the topics they match.

Kafka matches them in the background, so its response to a member's first heartbeat may not include
these topics yet. Here they are matched before the response, against the current topics.
"""

from collections.abc import Iterator
from typing import Final

from broker_lite.coordinator.consumer import changes
from broker_lite.coordinator.consumer.group import ConsumerGroup, ResolvedRegex
from broker_lite.coordinator.effects import Effects
from broker_lite.coordinator.subscriptions import Prepared
from broker_lite.coordinator.topics import Topics
from broker_lite.errors import InvalidRegularExpression

# In the unit of `Matching.work`; 50 ms in the worst case. A heartbeat matches one expression after
# the other until it reaches this amount of work, and leaves the rest to the next heartbeats.
_WORK_AT_ONCE: Final = 10_000_000
REFRESH_MS: Final = 600_000
"""Where clients do not see all topics, expressions are matched again after so long."""


def update_regex(group: ConsumerGroup, old: str, new: str, effects: Effects, now_ms: int) -> None:
    """Match the new regular expression of a stored member, and drop the old one if it is unused.

    Args:
        group: its group.
        old: the expression before, "" for none.
        new: the valid new expression, "" for none.
        effects: gets the records.
        now_ms: the current time.

    See: G-100 (maybeUpdateRegularExpressions).
    """
    drop_unused_regex(group, old, effects)
    if new and new not in group.regexes:
        _resolve(group, new, prepared(new, group.topics), effects, now_ms)


def drop_unused_regex(group: ConsumerGroup, regex: str, effects: Effects) -> None:
    """Drop the matched topics of a regular expression if no member subscribes to it any more."""
    if regex and not group.roster.subscribers_of_regex(regex):
        changes.drop_regex(group, regex, effects)


def is_refresh_due(group: ConsumerGroup, now_ms: int) -> bool:
    """Return whether regular expressions have to be matched again because rights may have changed.

    See: G-100 (group.consumer.regex.refresh.interval.ms).
    """
    return (
        group.topics.is_visible is not None
        and now_ms - group.regexes_matched_ms > REFRESH_MS
        and bool(group.roster.subscribed_regexes)
    )


def refresh_regexes(group: ConsumerGroup, effects: Effects, now_ms: int) -> bool:
    """Match regular expressions again, after topics were created or deleted.

    It stops when it has done too much work for one heartbeat, or at an expression that takes long
    and that no thread has prepared. The rest stays in `group.regexes_to_match`.

    Returns:
        Whether one of them matches other topics than before.
    """
    waiting = group.regexes_to_match = _waiting(group)
    is_changed = False
    work = 0
    while waiting and work < _WORK_AT_ONCE:
        regex = waiting[-1]
        if group.roster.subscribers_of_regex(regex):
            ready = prepared(regex, group.topics)
            if ready.is_heavy and regex not in group.topics.prepared:
                break
            before = group.regexes.get(regex)
            work += _resolve(group, regex, ready, effects, now_ms)
            is_changed |= group.regexes.get(regex) is not before
        waiting.pop()
    return is_changed


def _waiting(group: ConsumerGroup) -> list[str]:
    """Return the regular expressions that have to be matched again, the next one last."""
    if group.regexes_to_match is not None:
        return group.regexes_to_match
    # from the members, not from the records: Kafka may have written a member before its expression
    return sorted(group.roster.subscribed_regexes, reverse=True)


def prepare_regexes(
    group: ConsumerGroup | None, new: str, topics: Topics
) -> Iterator[tuple[str, Prepared]]:
    """Compile the regular expressions that the next heartbeat of a group will match.

    Args:
        group: None if the heartbeat creates the group.
        new: the expression that the member newly subscribes to, "" for none.
        topics: the current topics.
    """
    regexes = [new] if new and (group is None or new not in group.regexes) else []
    if group is not None and group.is_metadata_stale:
        regexes += reversed(_waiting(group))
    work = 0
    for regex in dict.fromkeys(regexes):
        if work >= _WORK_AT_ONCE:
            return
        ready = Prepared(regex, topics)
        yield regex, ready
        work += ready.work


def _resolve(
    group: ConsumerGroup, regex: str, ready: Prepared, effects: Effects, now_ms: int
) -> int:
    """Match one regular expression, and return how much work it was."""
    old = group.regexes.get(regex)
    is_visible = group.topics.is_visible
    try:
        matching = ready.matching(group.topics)
    except InvalidRegularExpression:
        # There are too many topics for it now. Such a pattern is large, so compiling it was much
        # work.
        return _WORK_AT_ONCE
    names = matching.names
    if is_visible is not None:
        names = tuple(filter(is_visible, names))
    if old is None or old.topics != names:
        version = old.version + 1 if old is not None else 1
        resolved = ResolvedRegex(names, version, now_ms)
        changes.put_regex(group, regex, resolved, effects)
    return matching.work


def prepared(pattern: str, topics: Topics) -> Prepared:
    """Return the pattern that a thread prepared for these topics, or prepare it now."""
    return topics.prepared.get(pattern) or Prepared(pattern, topics)
