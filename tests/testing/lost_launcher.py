"""What a process does whose launcher is killed; each function runs in one of its own."""

import os
import signal
import time

import psutil
import pytest

from broker_lite.client import Client
from broker_lite.testing import Broker, BrokerDied, BrokerFailed
from broker_lite.testing.processes.forks import Forks, forks_of_process, running_forks

_TIMEOUT_S = 60


def is_replaced() -> None:
    """The next broker has a launcher again, and what the first one had on disk is removed."""
    with Broker():
        pass
    first = _kill_launcher()
    with Broker() as broker, Client(broker.bootstrap):
        assert running_forks() is not first
    assert not first.root.exists()


def leaves_a_broker() -> None:
    """Its broker is not the next launcher's."""
    with Broker() as broker:
        first = _kill_launcher()
        with Broker():
            assert running_forks() is not first
        with pytest.raises(BrokerFailed, match="the process that starts brokers: it is gone"):
            broker.stop()


def leaves_a_dead_broker() -> None:
    """A broker that died before its launcher can be started again."""
    with Broker() as broker:
        os.kill(broker.pid, signal.SIGKILL)
        while broker.is_running:
            time.sleep(0.001)
        _kill_launcher()
        with pytest.raises(BrokerDied, match=r"has ended \(the process that starts brokers"):
            broker.records("t")
        broker.restart()
        broker.produce("t", "x")
        assert broker.data_dir.is_dir()


def _kill_launcher() -> Forks:
    forks = forks_of_process()
    os.kill(forks.pid, signal.SIGKILL)
    psutil.Process(forks.pid).wait(_TIMEOUT_S)
    return forks
