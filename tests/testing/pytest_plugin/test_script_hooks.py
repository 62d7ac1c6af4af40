"""The mark `broker_script` and the option `--broker-lite-keep`, in runs as users have them."""

import json

import pytest

SCRIPT = {
    "topics": ["orders"],
    "rules": [{"id": "lost", "keys": ["Produce"], "error": "REQUEST_TIMED_OUT"}],
}
RECORD = {"script": SCRIPT, "decisions": [{"rule": "lost", "match": 2, "request": 2}]}

SOURCE = """
import datetime, pytest
from broker_lite.client.errors import Refused

SOON = datetime.timedelta(milliseconds=20)

def send(broker):
    try:
        broker.produce("orders", "x")
        return True
    except Refused:
        return False

@pytest.mark.broker_script("lost.json")
def test_acts(broker):
    assert not send(broker)

@pytest.mark.broker_script("lost.json", timeout=SOON)
def test_does_not_act(broker):
    pass

@pytest.mark.broker_script("lost.json")
@pytest.mark.parametrize("n", [1])
def test_fails(broker, n):
    send(broker)
    assert not n

@pytest.mark.broker_script("record.json")
def test_again(broker):
    assert [send(broker), send(broker), send(broker)] == [True, False, True]

@pytest.mark.broker_script("lost.json")
def test_without_a_broker():
    pass
"""


def test_marks_and_what_is_kept(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    (pytester.path / "lost.json").write_text(json.dumps(SCRIPT))
    (pytester.path / "record.json").write_text(json.dumps(RECORD))
    pytester.makepyfile(SOURCE)
    ours = "test_marks_and_what_is_kept.py-test_"
    result = pytester.runpytest_inprocess("-W", "error", "--broker-lite-keep", "kept")
    result.assert_outcomes(passed=2, failed=3)
    result.stdout.fnmatch_lines(
        [
            "*rule lost acted on no request*",
            f"*kept/{ours}does_not_act.brokerlite: broker.script() and*",
            f"*kept/{ours}fails-1.brokerlite: broker.script() and*",
            "*broker_script needs the fixture broker or broker_cluster*",
        ]
    )
    names = sorted(path.name for path in (pytester.path / "kept").iterdir())
    assert names == [f"{ours}does_not_act.brokerlite", f"{ours}fails-1.brokerlite"]
    record = json.loads((pytester.path / "kept" / names[1]).read_text())
    assert record["decisions"] == [{"rule": "lost", "match": 1, "request": 1}]
    assert any("REQUEST_TIMED_OUT" in each for each in record["requests"])
