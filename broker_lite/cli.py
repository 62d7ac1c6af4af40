"""The command line: `broker-lite serve`, `broker-lite config`, `broker-lite --version`.

What a person did wrong is one line on standard error and exit code 2; a disk that fails is one line
and exit code 1. The server is imported only when it is started, so that everything else answers at
once.
"""

import argparse
import atexit
import gc
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from broker_lite import __version__, logs
from broker_lite.errors import KafkaStorageError, SettingsError
from broker_lite.settings import Settings, load_settings, parse_assignment, parse_listeners
from broker_lite.settings.table import FORMATS

_USAGE_ERROR: Final = 2
_DISK_ERROR: Final = 1
_INTERRUPTED: Final = 130
_STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_IMPORTED_S: Final = time.clock_gettime(time.CLOCK_BOOTTIME)
_START_TIME_FIELD: Final = 19  # of /proc/self/stat, counted after the name in brackets


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:  # type: ignore[explicit-override]
        """End with the message."""
        raise SettingsError(message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    _take_standard_descriptors()
    try:
        options = _parser().parse_args(arguments)
        if options.version:
            print(f"broker-lite {__version__} (scan: {scan_form()})")
            return 0
        if options.command == "config":
            return _config(options)
        if options.command == "serve":
            return _serve(options)
        raise SettingsError("say what to do: serve, config or --version; --help tells more")
    except (SettingsError, KafkaStorageError) as error:
        text = " ".join(str(error).split())
        print(f"broker-lite: {text}", file=sys.stderr)
        return _USAGE_ERROR if isinstance(error, SettingsError) else _DISK_ERROR
    except BrokenPipeError:
        _drop_output()
        return 1
    except KeyboardInterrupt:
        return _INTERRUPTED


def _take_standard_descriptors() -> None:
    """Open what the caller closed of 0, 1 and 2: libuv aborts when it gets to close one of them."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _drop_output() -> None:
    """Who read our output has gone: nothing more is said, not even by the interpreter's exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def scan_form() -> str:
    """Which form of the record scan is in use: native or python."""
    from broker_lite.record import scan

    return "python" if str(scan.__file__).endswith(".py") else "native"


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="broker-lite", description="A Kafka-compatible broker for tests and load tests."
    )
    parser.add_argument("--version", action="store_true", help="print version and form of the scan")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    serve = commands.add_parser("serve", help="start a broker")
    _add_sources(serve)
    serve.add_argument("--host", help="address to listen on, 0.0.0.0 for all [127.0.0.1]")
    serve.add_argument("--port", type=_port, help="port to listen on, 0 for a free one [9092]")
    serve.add_argument("--data-dir", type=Path, help="where the data is [a temporary directory]")
    serve.add_argument("--node-id", help="number of this node [1]")
    serve.add_argument("--log-level", help=f"one of {', '.join(logs.LEVELS)} [info]")
    serve.add_argument("--log-format", help=f"one of {', '.join(logs.FORMATS)} [text]")
    config = commands.add_parser("config", help="print every setting")
    _add_sources(config)
    config.add_argument("--format", choices=list(FORMATS), default="table", help="[table]")
    return parser


def _add_sources(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="settings: a *.toml, or a server.properties"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="one setting; repeatable"
    )


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:6]) <= 65535):
        raise argparse.ArgumentTypeError(f"{text} is not a port, 0 to 65535")
    return int(text)


def _config(options: argparse.Namespace) -> int:
    warnings: list[str] = []
    settings = _load(options, {}, warnings)
    for line in FORMATS[options.format](settings):
        print(line)
    for warning in warnings:
        print(f"broker-lite: {warning}", file=sys.stderr)
    return 0


def _load(
    options: argparse.Namespace, flags: Mapping[str, tuple[str, str]], warnings: list[str]
) -> Settings:
    assignments = [parse_assignment(text) for text in options.set]
    return load_settings(options.config, os.environ, assignments, flags=flags, warnings=warnings)


def _serve(options: argparse.Namespace) -> int:
    flags: dict[str, tuple[str, str]] = {}
    for name, text, flag in (
        ("node.id", options.node_id, "--node-id"),
        ("broker.lite.log.level", options.log_level, "--log-level"),
        ("broker.lite.log.format", options.log_format, "--log-format"),
        ("log.dirs", options.data_dir and str(options.data_dir), "--data-dir"),
    ):
        if text is not None:
            flags[name] = (text, flag)
    warnings: list[str] = []
    settings = _load(options, flags, warnings)
    if options.host is not None or options.port is not None:
        flags["listeners"] = (_listeners(settings, options.host, options.port), "--host, --port")
    directories = settings.log_dirs or settings.log_dir
    # The interpreter's own end puts the default actions back: by then no signal gets through.
    atexit.register(signal.pthread_sigmask, signal.SIG_BLOCK, _STOP_SIGNALS)
    for number in _STOP_SIGNALS:  # until the server has its own way, so that nothing is left
        signal.signal(number, _end)
    with _data_directory(directories) as directory:
        flags["log.dirs"] = (directory, "--data-dir")
        settings = _load(options, flags, [])
        logs.set_up(settings.broker_lite_log_level, settings.broker_lite_log_format)
        try:
            return _run(settings, Path(directory), not directories, warnings)
        finally:
            for number in _STOP_SIGNALS:  # one more must not leave half a directory
                signal.signal(number, _do_nothing)


def _do_nothing(_signal: int, _frame: FrameType | None) -> None:
    """Be the handler of a signal that changes nothing any more."""


def _end(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(0)


def _listeners(settings: Settings, host: str | None, port: int | None) -> str:
    """The text of `listeners` in which the first one that is opened has another address."""
    first = parse_listeners(settings)[0]
    new_host = first.host if host is None else host
    if ":" in new_host and not new_host.startswith("["):
        new_host = f"[{new_host}]"
    entries: Sequence[str] = settings.listeners
    address = f"{first.name}://{new_host}:{first.port if port is None else port}"
    return ",".join(
        address if entry.upper().startswith(f"{first.name}://") else entry for entry in entries
    )


def _data_directory(directories: Sequence[str] | None) -> AbstractContextManager[str]:
    """The directory that is configured, else a temporary one for as long as the context lasts."""
    if directories:
        return nullcontext(directories[0])
    from tempfile import TemporaryDirectory

    return TemporaryDirectory(prefix="broker-lite-", ignore_cleanup_errors=True)


def _run(settings: Settings, data_dir: Path, is_temporary: bool, warnings: Sequence[str]) -> int:
    import logging

    logger = logging.getLogger("broker_lite.cli")
    for warning in warnings:
        logger.warning("%s", warning)
    if is_temporary:
        logger.warning("data directory is temporary, it is removed at exit path=%s", data_dir)
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"data directory {data_dir}: {error.strerror}") from error
    # What the imports make stays; looking for garbage among it is a twelfth of their time. The
    # server enables it again when it is ready.
    gc.disable()
    try:
        from broker_lite.server.run import serve

        return serve(settings, data_dir=data_dir, ready=_tell_ready, durable=not is_temporary)
    finally:
        gc.enable()


def _tell_ready(address: str) -> None:
    elapsed_ms = round((time.clock_gettime(time.CLOCK_BOOTTIME) - _started_s()) * 1000)
    try:
        print(f"broker-lite {__version__} ready on {address} in {elapsed_ms} ms", flush=True)
    except OSError as error:
        _drop_output()
        reason = error.strerror
        print(f"broker-lite: ready on {address}; standard output: {reason}", file=sys.stderr)


def _started_s() -> float:
    """When this process began, on the clock that counts from the machine's start.

    Without /proc, when this module was imported.
    """
    try:
        fields = Path("/proc/self/stat").read_text("ascii").rpartition(")")[2].split()
    except OSError:
        return _IMPORTED_S
    return int(fields[_START_TIME_FIELD]) / os.sysconf("SC_CLK_TCK")
