"""The page about other languages: its programs are run as printed, and ask for the same things."""

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from broker_lite.testing import Broker
from tests.readme.snippets import File, Program, printed
from tests.support import dotnet
from tests.support.broker_process import BrokerProcess
from tests.support.toolchain import require
from tests.tidy.project_files import ROOT

PROGRAMS = printed((ROOT / "docs/use/languages.md").read_text("utf-8"))
PRINTED_CONTROL = "localhost:9099"
NEEDS = {"Java": ("java",), "Go": ("go",), "Node": ("node",), "Rust": ("rustc",), ".NET": ()}
REQUESTS = [
    ("PUT", "/v1/requests/recording"),
    ("POST", "/v1/faults"),
    ("POST", "/v1/faults/moved/wait"),
    ("GET", "/v1/requests?keys=Produce&topic=orders"),
    ("POST", "/v1/reset"),
]
CALL = re.compile(r'\b[cC]ontrol\("([A-Z]+)", "([^"]+)"')


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """The broker that the page starts."""
    data_dir = tmp_path_factory.mktemp("languages") / "data"
    flags = ("--control=127.0.0.1:0", "--topic", "orders")
    with BrokerProcess(data_dir, arguments=flags) as broker:
        yield broker


def write_when_it_is_time(broker: Broker, bootstrap: str, over: threading.Event) -> None:
    """Write a record as soon as there is a rule, and try again until the program is over."""
    while not broker.faults():
        if over.wait(0.02):
            return
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    producer.produce("orders", "one")
    over.wait()
    producer.purge()


@pytest.mark.client
@pytest.mark.parametrize("language", NEEDS)
def test_the_program_runs(language: str, served: BrokerProcess, tmp_path: Path) -> None:
    require(*NEEDS[language])
    broker = Broker.connect(served.control_url)
    address = served.control_url.removeprefix("http://")
    program = Program(PROGRAMS[language], tmp_path, address, PRINTED_CONTROL)
    if language == ".NET":
        program.environment |= dotnet.environment()
    program.prepare()
    over = threading.Event()
    under_test = threading.Thread(
        target=write_when_it_is_time, args=(broker, served.bootstrap, over)
    )
    under_test.start()
    try:
        told = program.run()
    finally:
        over.set()
        under_test.join()
    assert told.count("-> NOT_LEADER_OR_FOLLOWER") == told.count("[moved]") == 2
    assert broker.faults() == []


@pytest.mark.parametrize("language", PROGRAMS)
def test_every_program_asks_for_the_same(language: str) -> None:
    (text,) = (step.text for step in PROGRAMS[language] if isinstance(step, File))
    assert CALL.findall(text) == REQUESTS
    rule = re.sub(r"[\s\"]", "", text)
    assert "{id:moved,keys:[Produce],topic:orders,error:NOT_LEADER_OR_FOLLOWER,count:2}" in rule
    assert PRINTED_CONTROL in text


def test_every_program_is_run() -> None:
    assert PROGRAMS.keys() == NEEDS.keys()
