"""The regular expressions that a group's members subscribe to, and the topics they match.

Kafka matches them in the background, so there the answer to a member's first heartbeat may still
be without them; here they are matched at once, against the topics of the moment.
"""

from collections.abc import Iterator
from typing import Final

from broker_lite.coordinator.consumer import changes
from broker_lite.coordinator.consumer.group import ConsumerGroup, ResolvedRegex
from broker_lite.coordinator.effects import Effects
from broker_lite.coordinator.subscriptions import Prepared
from broker_lite.coordinator.topics import Topics
from broker_lite.errors import InvalidRegularExpression

# As match() measures it; 50 ms in the worst case. One heartbeat goes on to the next expression
# until this is reached, and the rest is left to the next heartbeats.
_WORK_AT_ONCE: Final = 10_000_000


def update_regex(group: ConsumerGroup, old: str, new: str, effects: Effects, now_ms: int) -> None:
    """A member that is written already subscribes to another regular expression now.

    Args:
        group: its group.
        old: the one before, "" for none.
        new: valid; "" for none.
        effects: gets the records.
        now_ms: the time.

    See: G-100 (maybeUpdateRegularExpressions).
    """
    drop_unused_regex(group, old, effects)
    if new and new not in group.regexes:
        _resolve(group, new, prepared(new, group.topics), effects, now_ms)


def drop_unused_regex(group: ConsumerGroup, regex: str, effects: Effects) -> None:
    """Forget what a regular expression matched, if nobody subscribes to it any more."""
    if regex and not group.roster.subscribers_of_regex(regex):
        changes.drop_regex(group, regex, effects)


def refresh_regexes(group: ConsumerGroup, effects: Effects, now_ms: int) -> bool:
    """Match regular expressions again, after topics were made or deleted.

    Those that would take too long at once stay in `group.regexes_to_match`, and so do those that
    take long and were not prepared.

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
    """The regular expressions that are to be matched again, the next one last."""
    if group.regexes_to_match is not None:
        return group.regexes_to_match
    # one that Kafka was about to match when it wrote this log is in no record yet
    return sorted(group.roster.subscribed_regexes, reverse=True)


def prepare_regexes(
    group: ConsumerGroup | None, new: str, topics: Topics
) -> Iterator[tuple[str, Prepared]]:
    """Compile what the next heartbeat of a group matches, as many as it would go on to.

    Args:
        group: None for one that the heartbeat makes.
        new: what the member subscribes to from now on; "" for nothing new.
        topics: those of the moment.
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
    """Match one, and return how much work that was."""
    old = group.regexes.get(regex)
    try:
        matching = ready.matching(group.topics)
    except InvalidRegularExpression:  # too large for so many topics by now, and so to be compiled
        return _WORK_AT_ONCE
    if old is None or old.topics != matching.names:
        version = old.version + 1 if old is not None else 1
        resolved = ResolvedRegex(matching.names, version, now_ms)
        changes.put_regex(group, regex, resolved, effects)
    return matching.work


def prepared(pattern: str, topics: Topics) -> Prepared:
    """The pattern as it was prepared for these topics, or else as it is prepared now."""
    return topics.prepared.get(pattern) or Prepared(pattern, topics)
