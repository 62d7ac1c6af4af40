"""Faults, recorded requests and snapshots around a test, in runs of pytest as users have them."""

import pytest

from tests.testing.pytest_runs import Run

FAULTS = """
import pytest

def test_leaves_a_fault_and_another_recording(broker, topic):
    assert broker.requests("CreateTopics", topic=topic)
    broker.hold("Produce", count=-1)
    broker.record_requests("off")
    broker.freeze()

def test_is_not_disturbed(broker, topic):
    assert not broker.control("GET", "/v1/clock")["is_frozen"]
    broker.produce(topic, "x")
    assert len(broker.requests("Produce")) == 1
    broker.restart()
    broker.produce(topic, "y")
    assert len(broker.requests("Produce")) == 1

@pytest.mark.broker_fault("Produce", error="NOT_LEADER_OR_FOLLOWER")
@pytest.mark.broker_fault("Produce", error="REQUEST_TIMED_OUT", applied=False)
def test_marked(broker, topic):
    for error in ("NOT_LEADER_OR_FOLLOWER", "REQUEST_TIMED_OUT"):
        with pytest.raises(Exception, match=error):
            broker.produce(topic, "x")
    broker.produce(topic, "x")

@pytest.mark.broker_fault("EndTxn", unused_ok=True, hold=True)
async def test_marked_async(broker):
    assert len(await broker.aio.faults()) == 1

def test_several_brokers(broker_cluster):
    broker_cluster.create_topic("t")
    assert broker_cluster.requests("CreateTopics")
"""


def test_faults_and_recorded_requests_are_those_of_one_test(run: Run) -> None:
    run(FAULTS, ini="asyncio_mode = auto\n").assert_outcomes(passed=5)


CERTIFICATES = """
def test_leaves_a_wrong_certificate(broker):
    broker.certificate_fault("expired")

def test_has_the_right_one(broker):
    assert [each["fault"] for each in broker.control("GET", "/v1/security/certificates")] == [""]
"""


def test_the_certificate_of_the_next_test_is_right(run: Run) -> None:
    run(CERTIFICATES, ini="broker_lite_security = ssl\n").assert_outcomes(passed=2)


UNUSED = """
import pytest

@pytest.mark.broker_fault("Produce", topic="order", error="REQUEST_TIMED_OUT")
def test_passes_without_its_fault(broker):
    broker.produce("orders", "x")

@pytest.mark.broker_fault("Produce", error="REQUEST_TIMED_OUT")
def test_fails_before_its_fault(broker):
    assert 1 == 2

@pytest.mark.broker_fault("Produce", error="NOT_LEADER")
def test_wrong_rule(broker):
    pass

@pytest.mark.broker_fault("Produce", error="REQUEST_TIMED_OUT")
def test_without_a_broker():
    pass
"""


def test_a_mark_that_does_not_act_fails_the_test(run: Run) -> None:
    result = run(UNUSED)
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(
        [
            "*FaultUnused: fault * acted on no request; nearest: Produce from *",
            "*broker-lite requests*",
            "r* Produce v* orders[[]0] 1 record * -> OK *",
            "*assert 1 == 2",
            "*ControlRefused: rules[[]0].error: there is no error 'NOT_LEADER'*",
            "a test with this mark has to use `broker` or `broker_cluster`",
        ],
        consecutive=False,
    )
    result.stdout.no_fnmatch_line("*FaultUnused*Fetch*")


RECORDED = """
def test_fails(broker, topic):
    for number in range(60):
        broker.control("GET", "/v1/ready")
    broker.produce(topic, "x")
    assert False

def test_nothing_came(broker):
    assert False

def test_the_broker_is_gone(broker):
    broker.kill()
    assert False
"""


@pytest.mark.parametrize("recording", ["headers", "bodies", "off"])
def test_the_report_of_a_failure_has_the_last_requests(run: Run, recording: str) -> None:
    result = run(RECORDED, ini=f"broker_lite_requests = {recording}\n")
    result.assert_outcomes(failed=3)
    text = result.stdout.str()
    assert text.count("broker-lite requests") == (recording != "off")
    assert (" CreateTopics v" in text) is (" Produce v" in text) is (recording != "off")


OF_FACTORY = """
def test_fails(broker_factory):
    silent, one = broker_factory(), broker_factory()
    one.record_requests()
    silent.create_topic("a")
    one.create_topic("b")
    assert False
"""


def test_the_report_has_the_requests_of_brokers_that_the_factory_made(run: Run) -> None:
    text = run(OF_FACTORY).stdout.str()
    assert text.count("broker-lite requests") == 1
    assert " CreateTopics v7 b " in text


def test_a_recording_that_there_is_not(run: Run) -> None:
    result = run(RECORDED, ini="broker_lite_requests = all\n")
    assert "broker_lite_requests: all: write headers, bodies, off" in result.stdout.str()


NOT_USED = """
def test_first(broker, topic):
    broker.produce(topic, "x")

def test_second(broker):
    assert not broker.is_controlled
"""


def test_without_recording_nothing_is_asked(run: Run) -> None:
    run(NOT_USED, ini="broker_lite_requests = off\n").assert_outcomes(passed=2)


SNAPSHOTS = """
import pytest

@pytest.fixture(scope="session")
def seeded(broker):
    broker.produce("orders", "one", "two")
    broker.snapshot("seeded")

pytestmark = [pytest.mark.usefixtures("seeded"), pytest.mark.broker_snapshot("seeded")]

@pytest.mark.parametrize("number", range(3))
def test_has_what_was_saved(broker, topic, number):
    assert broker.records(topic) == []
    assert [record.value for record in broker.records("orders")] == [b"one", b"two"]
    broker.produce("orders", "three")
    broker.create_topic("more")

@pytest.mark.broker_snapshot("nothing")
def test_there_is_none(broker):
    pass
"""


def test_a_snapshot_is_restored_before_each_test(run: Run) -> None:
    result = run(SNAPSHOTS)
    result.assert_outcomes(passed=3, failed=1)
    told = "*BrokerFailed: there is no snapshot 'nothing': save it in a fixture of the session"
    result.stdout.fnmatch_lines([told])
