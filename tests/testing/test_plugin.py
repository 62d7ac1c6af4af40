"""The plugin at work: runs of pytest as users have them.

Also tests: broker_lite.testing.pytest_plugin.fixtures.
"""

import re
import subprocess
import sys

import pytest

from tests.testing.pytest_runs import Run

PLAIN = """
import pytest

def test_topic(broker, topic):
    broker.produce(topic, "one", b"two")
    assert [record.value for record in broker.records(topic)] == [b"one", b"two"]

@pytest.mark.parametrize("letter", ["a/b", "ü"])
def test_each_has_its_topic(broker, topic, letter):
    assert broker.records(topic) == []
    broker.produce(topic, letter)

def test_batches(make_batch):
    assert len(make_batch("v", ("v", "k"))) > 61

def test_brokers(broker, broker_factory):
    one, other = broker_factory(), broker_factory({"num.partitions": 2}, topics=["t:3"])
    assert len({broker.port, one.port, other.port}) == 3
    login = {"client.id": "me"}
    third = broker_factory(auto_create_topics_enable=False, port=0, client_properties=login)
    assert third.client_properties == login
    assert third.settings == {"auto.create.topics.enable": "false"}
"""


def test_plain_tests(run: Run, run_apart: Run) -> None:
    run(PLAIN).assert_outcomes(passed=5)
    run_apart(PLAIN).assert_outcomes(passed=5)


def test_xdist_has_a_broker_for_each_worker(run_apart: Run) -> None:
    source = """
    import os, pytest

    @pytest.mark.parametrize("number", range(6))
    def test_one(broker, topic, number, testrun_uid, tmp_path_factory):
        broker.produce(topic, str(number))
        assert len(broker.records(topic)) == 1
        assert broker.data_dir.is_dir()
    """
    run_apart(source, "-n", "2").assert_outcomes(passed=6)


@pytest.mark.parametrize("mode", ["strict", "auto"])
def test_pytest_asyncio(run_apart: Run, mode: str) -> None:
    source = """
    import pytest
    from broker_lite.testing import Broker

    pytestmark = pytest.mark.asyncio

    async def test_one(broker, topic):
        await broker.aio.produce(topic, "one")
        assert len(await broker.aio.records(topic)) == 1

    async def test_another():
        async with Broker() as broker:
            await broker.aio.reset()
    """
    run_apart(source, "-o", f"asyncio_mode={mode}").assert_outcomes(passed=2)


def test_anyio(run_apart: Run) -> None:
    source = """
    import pytest

    @pytest.fixture(params=["asyncio"])
    def anyio_backend(request):
        return request.param

    @pytest.mark.anyio
    async def test_one(broker, topic):
        await broker.aio.produce(topic, "one")
        assert len(await broker.aio.records(topic)) == 1
    """
    run_apart(source).assert_outcomes(passed=1)


SETTINGS = """
def test_settings(broker, topic):
    assert broker.settings == {expected}
"""


def test_settings_of_the_configuration(run: Run) -> None:
    ini = "broker_lite_settings =\n    num.partitions = 4\n    log.segment.bytes=1048576\n"
    expected = {"num.partitions": "4", "log.segment.bytes": "1048576"}
    run(SETTINGS.format(expected=expected), ini=ini).assert_outcomes(passed=1)


def test_security_of_the_configuration(run: Run) -> None:
    source = """
def test_the_broker(broker):
    assert broker.client_config("java")["security.protocol"] == "SASL_PLAINTEXT"
"""
    ini = "broker_lite_security = sasl_plaintext\n"
    run(source, ini=ini).assert_outcomes(passed=1)


def test_settings_of_a_fixture(run: Run) -> None:
    source = """
import pytest

@pytest.fixture(scope="session")
def broker_settings():
    return {"num.partitions": 4}
"""
    expected = {"num.partitions": "4"}
    run(source + SETTINGS.format(expected=expected)).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("line", "message"),
    [("num.partitions", "write NAME=VALUE"), ("num.partitions=x", "Invalid value x")],
)
def test_settings_that_are_none(run: Run, line: str, message: str) -> None:
    result = run("def test(broker): pass", ini=f"broker_lite_settings = {line}\n")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*{message}*"])


RESETS = """
import pytest

def names(broker):
    from broker_lite.client import Client
    with Client(broker.bootstrap) as client:
        return [topic.name for topic in client.metadata().topics]

def test_first(broker):
    broker.create_topic("left-behind")

@pytest.mark.parametrize("number", [1, 2])
def test_default(broker, number):
    assert bool(names(broker)) is not {default}
    broker.create_topic(f"left-behind-{{number}}")

@pytest.mark.broker_reset
def test_marked(broker, topic):
    assert names(broker) == [topic]

@pytest.mark.broker_reset(False)
def test_marked_for_no_reset(broker):
    assert len(names(broker)) == 1

def test_without_a_broker():
    pass
"""


@pytest.mark.parametrize("default", [True, False])
def test_resets_between_tests(run: Run, default: bool) -> None:
    ini = f"broker_lite_reset = {default}\n"
    run(RESETS.format(default=default), ini=ini).assert_outcomes(passed=6)


def test_the_report_of_a_failure_has_the_lines_of_its_test(run: Run) -> None:
    source = """
    import pytest

    def test_starts_the_broker(broker):
        broker.reset()

    def test_passes(broker_factory):
        broker_factory()

    def test_fails(broker, broker_factory):
        broker.restart()
        started = broker_factory()
        assert started.port == 0

    @pytest.fixture
    def failing(broker):
        broker.restart()
        raise RuntimeError("a fixture")

    def test_does_not_get_there(failing):
        pass

    def test_without_a_broker():
        assert 0
    """
    result = run(source)
    result.assert_outcomes(passed=2, failed=2, errors=1)
    text = str(result.stdout)
    first, second, third = re.findall(r"-- broker-lite log \((broker-\d+)\) --", text)
    assert first == second != third
    assert len(re.findall(r"INFO broker_lite.testing ready on", text)) == 3


def test_the_report_of_a_failure_tells_what_was_refused(run: Run) -> None:
    source = """
    def test_too_large(broker, topic):
        broker.produce(topic, b"x" * 1_100_000)
    """
    result = run(source)
    result.assert_outcomes(failed=1)
    result.stdout.re_match_lines(
        [
            r"-+ broker-lite log \(broker-\d+\) -+",
            r".* WARNING broker_lite\.refusals Produce refused topic=test_too_large-\S+ partition=0"
            r" request=x\d+ error=MESSAGE_TOO_LARGE .* reason=the batch of 1,100,0\d\d bytes"
            r" is above max\.message\.bytes=1048588",
        ]
    )


KILLS = """
import os, signal, time

def test_first(broker):
    broker.produce("t", "kept")

def test_kills(broker):
    os.kill(broker.pid, signal.SIGKILL)
    while broker.is_running:
        time.sleep(0.001)
    {then}

def test_without_a_broker():
    assert 1

def test_next(broker, topic):
    assert [record.value for record in broker.records("t")] == [b"kept"]

def test_last(broker):
    broker.produce("t", "on it goes")
"""


@pytest.mark.parametrize("arguments", [(), ("-n", "1")], ids=["alone", "xdist"])
def test_a_session_goes_on_when_its_broker_is_killed(
    run_apart: Run, arguments: tuple[str, ...]
) -> None:
    result = run_apart(KILLS.format(then=""), *arguments)
    result.assert_outcomes(passed=5, warnings=1)
    result.stdout.re_match_lines(
        [
            "test_a_session_goes_on.*::test_next",
            r".*PytestWarning: the broker \(pid \d+\) was killed by SIGKILL; it logged last: .*"
            r"; before this test it was restarted at the same port, with its data",
        ]
    )


def test_a_failure_says_that_the_broker_died(run: Run) -> None:
    result = run(KILLS.format(then="broker.create_topic('other')"))
    result.assert_outcomes(passed=4, failed=1, warnings=1)
    result.stdout.re_match_lines(
        [
            r"-+ broker-lite -+",
            r"the broker \(pid \d+\) was killed by SIGKILL; it logged last: .*",
        ]
    )
    assert "Connection refused" not in str(result.stdout)


def test_only_the_end_of_a_long_log_is_shown(run: Run) -> None:
    source = """
    def test_fails(broker):
        path = broker.data_dir.with_suffix(".log")
        path.write_text("x" * 70_000 + "the end")
        assert 0
    """
    result = run(source)
    result.assert_outcomes(failed=1)
    result.stdout.re_match_lines([r"\[4471 bytes left out\]", ".*the end"])


def test_a_project_may_have_fixtures_of_these_names(run: Run) -> None:
    source = """
    import pytest

    @pytest.fixture
    def broker():
        return "mine"

    @pytest.fixture
    def topic(broker):
        return f"{broker}, too"

    @pytest.mark.broker_reset
    def test_mine(broker, topic):
        assert (broker, topic) == ("mine", "mine, too")
    """
    run(source).assert_outcomes(passed=1)


def test_a_project_may_build_on_the_fixture(run: Run) -> None:
    source = """
    import pytest

    @pytest.fixture(scope="session")
    def broker(broker):
        broker.produce("seed", "x")
        return broker

    def test_mine(broker):
        assert len(broker.records("seed")) == 1
    """
    run(source).assert_outcomes(passed=1)


def test_nothing_is_imported_for_who_uses_nothing() -> None:
    source = (
        "import sys, pytest, broker_lite.testing.plugin\n"
        "import broker_lite.testing.pytest_plugin.fixtures\n"
        "print(sorted(name for name in sys.modules if name.startswith('broker_lite')))\n"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, check=True)
    assert done.stdout.decode().splitlines()[0] == str(
        [
            "broker_lite",
            "broker_lite.native",
            "broker_lite.testing",
            "broker_lite.testing.plugin",
            "broker_lite.testing.pytest_plugin",
            "broker_lite.testing.pytest_plugin.fixtures",
        ]
    )
