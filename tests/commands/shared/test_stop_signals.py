import os
import signal

import pytest

from broker_lite.commands.shared.stop_signals import StopSignals


@pytest.mark.parametrize(
    ("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]
)
def test_held_back_until_welcome(number: int, error: type[BaseException]) -> None:
    before = signal.getsignal(number)
    with StopSignals() as signals:
        with signals.welcome():
            pass
        os.kill(os.getpid(), number)
        with pytest.raises(error), signals.welcome():
            pytest.fail("it has come before")
    assert signal.getsignal(number) is before


@pytest.mark.parametrize(
    ("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]
)
def test_it_ends_what_waits(number: int, error: type[BaseException]) -> None:
    with StopSignals() as signals, pytest.raises(error), signals.welcome():
        os.kill(os.getpid(), number)


def test_a_second_one_ends_anything() -> None:
    with StopSignals():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(SystemExit):
            os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize("is_welcome", [False, True])
def test_what_takes_too_long_is_ended(is_welcome: bool) -> None:
    before = signal.getsignal(signal.SIGALRM)
    with StopSignals(grace_s=0.05) as signals:
        if is_welcome:
            with pytest.raises(SystemExit), signals.welcome():
                os.kill(os.getpid(), signal.SIGTERM)
        else:
            os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(SystemExit) as ended:
            signal.pause()
        assert ended.value.code == 143
    assert signal.getsignal(signal.SIGALRM) is before
