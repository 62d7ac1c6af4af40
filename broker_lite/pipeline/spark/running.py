"""A session for a `with` block, which a signal ends with one line instead of stack traces.

SIGINT (Ctrl-C) and SIGTERM cancel the jobs of the session: tasks end, a write is undone, Java
exits. The exit code is 130 or 143, as for a program that a signal ended. A second signal ends the
process at once; readers ignore the files that it leaves.
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

from broker_lite.pipeline.spark.class_archive import ClassArchive
from broker_lite.pipeline.spark.session import session

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
# Over a Unix socket, a worker may notice the end of Java and print a traceback.
_TCP: Final = MappingProxyType({"spark.python.unix.domain.socket.enabled": "false"})
# Java may have exited by then: a signal to a process group ends it, too.
_JAVA_IS_GONE: Final = (Py4JError, OSError)
_TIMEOUT_S: Final = 10


class Stopped(SystemExit):
    """A signal ended the program; the exit code is 128 + its number, as in a shell."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.name = signal.Signals(number).name


@contextmanager
def running(
    app_name: str = "broker-lite",
    master: str | None = None,
    conf: Mapping[str, str] = MappingProxyType({}),
    *,
    quick_start: bool = False,
    is_quiet: bool = False,
    makes: ClassArchive | None = None,
) -> Iterator[SparkSession]:
    """Yield a session that ends with the block; the arguments are those of session().

    An existing session is used unchanged and left running. Call it in the main thread only, because
    Python handles signals there.

    Raises:
        NoJava: the machine has no Java that Spark runs on.
        Stopped: SIGINT or SIGTERM arrived; a line on standard error says so.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    with Signals() as signals:
        try:
            spark = session(
                app_name,
                master,
                {**_TCP, **conf},
                quick_start=quick_start,
                is_quiet=is_quiet,
                makes=makes,
            )
            signals.take()  # Spark replaced the handler of SIGINT
            try:
                yield spark
            finally:
                _apart(spark.stop) if signals.stopped is not None else spark.stop()
        except BaseException as error:
            # An interrupted call may fail with another error than Stopped.
            if signals.stopped is None:
                raise
            sys.stderr.write(f"{app_name}: stopped by {signals.stopped.name}\n")
            raise signals.stopped from error


class Signals:
    """Handles the first signal within the context; after it, the default actions apply.

    Attributes:
        stopped: the error of the first signal, None if none arrived.
    """

    def __init__(self) -> None:
        self.stopped: Stopped | None = None
        self._before: dict[signal.Signals, Any] = {}

    def take(self) -> None:
        """Install the handlers, replacing any others."""
        for number in _SIGNALS:
            signal.signal(number, self._stop)

    def _stop(self, number: int, _frame: FrameType | None) -> NoReturn:
        self.stopped = Stopped(number)
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        # The interrupted call to Java would make py4j log a traceback.
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
    """Call Java in another thread: this thread's connection waits for another answer."""

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
