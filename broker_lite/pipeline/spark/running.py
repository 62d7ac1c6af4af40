"""A session for a `with` block, which a signal ends as well: one line, no stack traces.

SIGINT, which is Ctrl-C, and SIGTERM cancel what Spark does. Its tasks end, a write is undone, Java
ends; the exit code is 130 or 143, as a shell tells a program that a signal ended. A second signal
ends at once; what it leaves behind is passed over by readers.
"""

import logging
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Thread
from types import FrameType, MappingProxyType
from typing import Any, Final, NoReturn, Self

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.sql import SparkSession

from broker_lite.pipeline.spark.session import session

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
# By a Unix socket a worker may notice that Java went away, and tell that with a traceback.
_TCP: Final = MappingProxyType({"spark.python.unix.domain.socket.enabled": "false"})
# Java may be gone by then: a signal to all processes of a group ends it as well.
_JAVA_IS_GONE: Final = (Py4JError, OSError)
_TIMEOUT_S: Final = 10


class Stopped(SystemExit):
    """A signal ended the program; the code is that of a shell."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.name = signal.Signals(number).name


@contextmanager
def running(
    app_name: str = "broker-lite",
    master: str | None = None,
    conf: Mapping[str, str] = _NOTHING,
    *,
    quick_start: bool = False,
) -> Iterator[SparkSession]:
    """Give a session that ends with the block; the arguments are those of session().

    A session that is there already is taken as it is, and left running. For the main thread only,
    as all signals are.

    Raises:
        NoJava: the machine has no Java that Spark runs on.
        Stopped: SIGINT or SIGTERM came; it is told on standard error.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    with Signals() as signals:
        try:
            spark = session(app_name, master, {**_TCP, **conf}, quick_start=quick_start)
            signals.take()  # Spark has taken one of them for itself
            try:
                yield spark
            finally:
                _apart(spark.stop) if signals.stopped is not None else spark.stop()
        except BaseException as error:
            # What a signal breaks off may end with another error than its own.
            if signals.stopped is None:
                raise
            sys.stderr.write(f"{app_name}: stopped by {signals.stopped.name}\n")
            raise signals.stopped from error


class Signals:
    """Takes the signals for as long as the context lasts, but none after the first that comes.

    Attributes:
        stopped: by which of them, None if none came.
    """

    def __init__(self) -> None:
        self.stopped: Stopped | None = None
        self._before: dict[signal.Signals, Any] = {}

    def take(self) -> None:
        """Take them, from whoever has them."""
        for number in _SIGNALS:
            signal.signal(number, self._stop)

    def _stop(self, number: int, _frame: FrameType | None) -> NoReturn:
        self.stopped = Stopped(number)
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        # What is being asked of Java breaks off, which py4j would tell with a traceback.
        logging.disable()
        _apart(_cancel)
        raise self.stopped

    def __enter__(self) -> Self:
        self._before = {number: signal.getsignal(number) for number in _SIGNALS}
        self.take()
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self.stopped is not None:
            logging.disable(logging.NOTSET)


def _apart(ask_java: Callable[[], None]) -> None:
    """Ask Java in another thread: this one's connection has the answer to another question."""

    def ask() -> None:
        with suppress(*_JAVA_IS_GONE):
            ask_java()

    thread = Thread(target=ask, daemon=True)
    thread.start()
    thread.join(_TIMEOUT_S)


def _cancel() -> None:
    context = SparkContext._active_spark_context
    if context is not None:
        context.setLogLevel("OFF")
        context.cancelAllJobs()
