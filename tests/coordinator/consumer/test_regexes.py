"""G-100: subscriptions by regular expression.

Also tests: broker_lite.coordinator.subscriptions.
"""

import gc
import subprocess
import sys
from contextlib import suppress

import pytest

from broker_lite.coordinator.consumer.member import ConsumerMember
from broker_lite.coordinator.consumer.regexes import REFRESH_MS, refresh_regexes
from broker_lite.coordinator.effects import Effects
from broker_lite.coordinator.subscriptions import Prepared, matching_names
from broker_lite.errors import InvalidRegularExpression
from tests.coordinator.consumer.consumer_driver import Driver

NAMES = ["k", "k1", "k-2", "other"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        pytest.param("k", ["k"], id="G-100 the whole name"),
        pytest.param("k.*", ["k", "k-2", "k1"], id="G-100 a prefix"),
        pytest.param("k|other", ["k", "other"], id="G-100 alternatives are whole names, too"),
        pytest.param(r"k\d", ["k1"], id="G-100 Perl classes"),
        pytest.param("(?i)K", ["k"], id="G-100 flags"),
        pytest.param(r"\Qk-2\E", ["k-2"], id="G-100 quoted"),
        pytest.param("(a+)+$", [], id="G-100 catastrophic elsewhere"),
        pytest.param("x", [], id="G-100 nothing"),
    ],
)
def test_matches(pattern: str, expected: list[str]) -> None:
    assert list(matching_names(pattern, NAMES)) == expected


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param("(", id="G-100 open group"),
        pytest.param(r"(.)\1", id="G-100 backreference"),
        pytest.param("(?=a)b", id="G-100 lookahead"),
        pytest.param("(?<!a)b", id="G-100 lookbehind"),
        pytest.param("a{1001}", id="G-100 too many repetitions"),
        pytest.param("((a{100}){100}){100}", id="G-100 nested repetitions"),
        pytest.param(r"\pL|" * 129, id="G-100 more Unicode classes than RE2 compiles in 50 ms"),
        pytest.param("a?" * 129, id="G-100 more optional parts than RE2 compiles in 50 ms"),
        pytest.param("a{0,1}" * 129, id="G-100 the same, written otherwise"),
        pytest.param("x" * 32_768, id="G-100 longer than a record's key"),
    ],
)
def test_refused(pattern: str) -> None:
    with pytest.raises(InvalidRegularExpression) as caught:
        Prepared(pattern, NAMES).check()
    assert caught.value.code == 128
    assert "SubscribedTopicRegex" in str(caught.value.message)


def test_time_is_linear() -> None:
    """G-100: what takes a backtracking matcher for ever is nothing here."""
    assert matching_names("(a|aa)+b|(a*)*c|(x+x+)+y", ["a" * 249, "x" * 249]) == ()


def test_a_large_pattern_and_many_names() -> None:
    """G-100: 0.3 s a name is too much for 200 of them; one that is known keeps what it matched."""
    hostile = "(a?b?){1,250}" * 60
    driver = Driver(a=1)
    assert driver.join("m1", None, subscribed_topic_regex=hostile).error_code == 0
    for index in range(200):
        driver.topics.make("ab" * 120 + f"{index}", 1)
    driver.group.topics_changed(["abab"])
    assert driver.beat("m1").error_code == 0
    assert driver.group.regexes[hostile].topics == ("a",)
    response = driver.join("m2", None, subscribed_topic_regex=hostile + "a")
    assert response.error_code == 128
    assert response.error_message.endswith("is too large to be matched with 201 topics.")


def test_many_patterns_are_matched_again_step_by_step() -> None:
    """G-100: a heartbeat takes some of them, the next ones the rest; then nothing is left."""
    driver = Driver(a=1)
    large = "(a?b?){1,100}" * 12
    for number in range(5):
        driver.join(f"m{number}", None, subscribed_topic_regex=f"{large}|t{number}")
    for number in range(5):
        driver.topics.make(f"t{number}", 1)
        driver.topics.make("ab" * 120 + f"x{number}", 1)
    driver.group.topics_changed(["t0"])
    found = []
    for _ in range(5):
        driver.beat("m0")
        found.append(sum(len(regex.topics) == 2 for regex in driver.group.regexes.values()))
    assert 1 <= found[0] < found[1] < 5
    assert found[-1] == 5
    assert not driver.group.is_metadata_stale
    # who is gone meanwhile is passed over
    driver.topics.make("t", 1)
    driver.group.topics_changed(["t"])
    driver.beat("m0")
    for number in range(1, 5):
        driver.leave(f"m{number}")
    driver.beat("m0")
    assert not driver.group.is_metadata_stale
    assert len(driver.group.regexes) == 1


HOSTILE = "(a?b?){1,250}" * 20
LONG = ["ab" * 120 + f"{number}" for number in range(3)]


def test_names_are_matched_beforehand_and_what_has_changed_since_then() -> None:
    """G-100: what a thread has matched counts for the topics that are still there."""
    ready = Prepared(HOSTILE + "[0-9]", LONG)
    assert ready.is_heavy
    assert ready.match_names(lambda: False)
    assert ready.matching(LONG).names == tuple(LONG)
    now = [*LONG[1:], "ab9", "other"]
    assert ready.matching(now).names == ("ab9", *LONG[1:])
    assert not Prepared("a.*", LONG).is_heavy
    assert not Prepared("(", LONG).is_heavy


def test_a_refusal_leaves_nothing_for_the_garbage_collector() -> None:
    """G-100: the names of all topics would be kept for good where a large request comes behind."""
    Prepared("a", NAMES).check()  # loads the library
    gc.collect()
    gc.disable()
    try:
        with suppress(InvalidRegularExpression):
            Prepared("(", NAMES).check()
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_stop_ends_the_matching() -> None:
    """G-100: nothing of it counts then."""
    stops = iter([False, True])
    ready = Prepared(HOSTILE, ["a", *LONG])
    assert not ready.match_names(lambda: next(stops))
    assert ready.matching(["a", "x"]).names == ("a",)


def test_a_heavy_one_that_nobody_prepared_waits_for_the_next_heartbeat() -> None:
    """G-100: requests of the older protocol do not match it again."""
    driver = Driver(a=1)
    driver.join("m1", None, subscribed_topic_regex=HOSTILE + "[0-9]*")
    for name in LONG:
        driver.topics.make(name, 1)
    driver.group.topics_changed(LONG)
    assert not refresh_regexes(driver.group, Effects(), driver.now_ms)
    assert driver.group.regexes_to_match == [HOSTILE + "[0-9]*"]
    driver.beat("m1")
    assert driver.group.regexes[HOSTILE + "[0-9]*"].topics == ("a", *LONG)
    assert driver.group.regexes_to_match == []


def test_the_library_is_loaded_by_the_first_pattern_only() -> None:
    """The broker starts without it."""
    code = (
        "import sys, broker_lite.coordinator.consumer.group;"
        "assert 're2' not in sys.modules;"
        "from broker_lite.coordinator.subscriptions import matching_names; matching_names('a', []);"
        "assert 're2' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)


def test_a_subscription_follows_the_topics() -> None:
    """G-100, G-84: topics that appear are found by the next heartbeat, and those that go."""
    driver = Driver(t1=1, u=1)
    driver.join("m1", None, subscribed_topic_regex="t.")
    assert driver.partitions("m1", "t1") == [0]
    assert driver.partitions("m1", "u") == []
    names = [name for name, _ in driver.last_records()]
    assert names[:3] == ["MemberMetadata", "RegularExpression", "Metadata"]
    driver.topics.make("t2", 1)
    driver.group.topics_changed(["t2"])
    driver.beat("m1")
    assert driver.partitions("m1", "t2") == [0]
    assert driver.group.regexes["t."].topics == ("t1", "t2")
    assert driver.group.regexes["t."].version == 2
    driver.topics.make("other", 1)
    driver.group.topics_changed(["other"])
    driver.beat("m1")
    assert driver.last_records() == []
    driver.topics.delete("t1")
    driver.group.topics_changed(["t1"])
    driver.beat("m1")
    driver.settle()
    assert list(driver.owned["m1"]) == [driver.topics.id("t2")]


def test_a_pattern_is_forgotten_with_its_last_subscriber() -> None:
    """G-100: by another subscription, by leaving, by the end of a session."""
    driver = Driver(t=2)
    driver.join("m1", ["t"], subscribed_topic_regex="x|y")
    driver.join("m2", ["t"], subscribed_topic_regex="x|y")
    driver.leave("m2")
    assert set(driver.group.regexes) == {"x|y"}
    driver.beat("m1", subscribed_topic_regex="t")
    assert set(driver.group.regexes) == {"t"}
    driver.beat("m1", subscribed_topic_regex="")
    assert not driver.group.regexes
    driver.beat("m1", subscribed_topic_regex="t")
    driver.leave("m1")
    names = [(name, value) for name, value in driver.last_records() if name == "RegularExpression"]
    assert names == [("RegularExpression", None)]
    assert not driver.group.regexes


def test_a_log_of_kafka_may_end_before_a_pattern_is_matched() -> None:
    """G-100: Kafka matches in the background; the first heartbeat after the start does it here."""
    driver = Driver(t=2)
    driver.group.roster.put(ConsumerMember(member_id="m1", regex="t", member_epoch=1))
    driver.epochs["m1"] = 1
    driver.beat("m1")
    assert driver.group.regexes["t"].topics == ("t",)
    assert driver.partitions("m1") == [0, 1]


def test_a_bad_pattern_changes_nothing() -> None:
    """G-78, G-100."""
    driver = Driver(t=2)
    response = driver.join("m1", None, subscribed_topic_regex="(")
    assert response.error_code == 128
    assert driver.group.is_unwritten
    driver.join("m1")
    assert driver.beat("m1", subscribed_topic_regex="[").error_code == 128
    assert driver.group.roster.members["m1"].regex == ""


def test_a_static_member_under_the_id_of_another_one_leaves_no_expression_behind() -> None:
    """G-83, G-100: nothing of the other member stays."""
    driver = Driver(t=2, u=1)
    driver.join("m1", names=[], instance_id="i")
    driver.join("m2", names=[], subscribed_topic_regex="t|u")
    driver.leave("m1", -2, instance_id="i")
    driver.join("m2", names=["u"], instance_id="i", subscribed_topic_regex="")
    assert driver.group.regexes == driver.replayed().regexes == {}
    assert driver.group.subscribed_topics() == {"u"}


def test_an_expression_matches_what_the_sender_may_see() -> None:
    """G-100: after ten minutes it is matched again, because what may be seen may have changed."""
    driver = Driver(t=1, u=1)
    seen = {"t"}
    driver.topics.is_visible = seen.__contains__
    driver.join("m1", None, subscribed_topic_regex="[a-z]")
    assert driver.group.regexes["[a-z]"].topics == ("t",)
    seen.add("u")
    driver.beat("m1")
    assert driver.group.regexes["[a-z]"].topics == ("t",)
    driver.now_ms += REFRESH_MS + 1
    driver.topics.is_visible = None  # nobody is asked where everything may be seen
    driver.beat("m1")
    assert driver.group.regexes["[a-z]"].topics == ("t",)
    driver.topics.is_visible = seen.__contains__
    driver.beat("m1")
    assert driver.group.regexes["[a-z]"].topics == ("t", "u")
    seen.clear()
    driver.topics.make("v", 1)
    driver.group.topics_changed(["v"])
    driver.beat("m1")
    assert driver.group.regexes["[a-z]"].topics == ()
