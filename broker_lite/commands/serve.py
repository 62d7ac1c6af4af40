"""`broker-lite serve`: start a broker and print when it is ready."""

import argparse
import atexit
import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final, NoReturn

from broker_lite import __version__, logging_setup
from broker_lite.commands.shared.descriptors import drop_output
from broker_lite.commands.shared.umask import masked
from broker_lite.commands.sources import Place, add_sources, load
from broker_lite.docker_entry.sources import IMAGE
from broker_lite.errors import SettingsError
from broker_lite.settings import Settings, with_first_address, with_flag
from broker_lite.settings.declared.one_word_settings import CERTIFICATE_FAULTS
from broker_lite.settings.sources.broker_count import beyond_the_brokers

if TYPE_CHECKING:
    from broker_lite.testbench.door import Door

_STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_IMPORTED_S: Final = time.clock_gettime(time.CLOCK_BOOTTIME)
_CONTROL: Final = "127.0.0.1:9099"
_CONTROL_SETTING: Final = "broker.lite.control"
_SECURITY: Final = "broker.lite.security"
# Where the address of the control API comes from if only the security needs one.
_NOBODY: Final = "the word of security"
_START_TIME_FIELD: Final = 19  # of /proc/self/stat, counted after the name in brackets


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    add_sources(parser)
    parser.add_argument("--host", help="address to listen on, 0.0.0.0 for all [127.0.0.1]")
    parser.add_argument("--port", type=_port, help="port to listen on, 0 for a free one [9092]")
    parser.add_argument("--data-dir", type=Path, help="the data directory [a temporary one]")
    parser.add_argument("--node-id", help="number of this node, or of the first broker [1]")
    parser.add_argument("--brokers", metavar="N", help="brokers in this process [1]")
    parser.add_argument(
        "--processes", metavar="N|auto", help="processes, each with one broker of the cluster [1]"
    )
    parser.add_argument("--racks", metavar="A,B,...", help="racks of the brokers in turns")
    parser.add_argument(
        "--control",
        nargs="?",
        const=_CONTROL,
        metavar="HOST:PORT",
        help=f"serve the control API there [off; {_CONTROL} without a value]",
    )
    parser.add_argument(
        "--script", metavar="FILE", help="run a script of faults and steps, *.json or *.yaml"
    )
    parser.add_argument(
        "--topic",
        action="append",
        metavar="NAME[:PARTITIONS[:CONFIG=VALUE,...]]",
        help="topic to create at the start; repeatable",
    )
    parser.add_argument("--topics-file", metavar="FILE", help="a file of such topics, one per line")
    parser.add_argument(
        "--seed-file", metavar="FILE", help="records to write at the start, *.jsonl or *.csv"
    )
    parser.add_argument(
        "--security",
        metavar="WORD",
        help="ssl, mtls, sasl_plaintext or sasl_ssl; what clients need is printed [off]",
    )
    parser.add_argument(
        "--user", action="append", metavar="NAME:PASSWORD", help="one more user; repeatable"
    )
    parser.add_argument(
        "--san",
        action="append",
        metavar="NAME",
        help="one more name in the certificate; repeatable",
    )
    parser.add_argument(
        "--security-only",
        action="store_const",
        const="true",
        help="no PLAINTEXT listener for health checks beside the secured one",
    )
    parser.add_argument(
        "--security-fault",
        metavar="FAULT",
        help=f"the certificate is wrong: {', '.join(CERTIFICATE_FAULTS)}",
    )
    parser.add_argument("--log-level", help=f"one of {', '.join(logging_setup.LEVELS)} [info]")
    parser.add_argument("--log-format", help=f"one of {', '.join(logging_setup.FORMATS)} [text]")


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:6]) <= 65535):
        raise argparse.ArgumentTypeError(f"{text} is not a port, 0 to 65535")
    return int(text)


def run(options: argparse.Namespace) -> int:
    """Run a broker until SIGTERM or SIGINT."""
    return start(options, Place(os.environ))


def start(
    options: argparse.Namespace,
    place: Place,
    *,
    warnings: Sequence[str] = (),
    on_ready: Callable[[Settings, str], None] = lambda *_: None,
) -> int:
    """Run a broker until SIGTERM or SIGINT.

    Args:
        options: with the flags of add_arguments().
        place: the environment.
        warnings: lines to log at the start.
        on_ready: called with HOST:PORT of the first listener after the ready line is printed.
    """
    notes = list(warnings)
    settings = load(options, _flags(options), notes, place)
    if settings.broker_lite_script:
        from broker_lite.testbench.scripts.files import with_script

        settings = with_script(settings)
    if options.host is not None or options.port is not None:
        listeners = with_first_address(settings, options.host, options.port)
        settings = with_flag(settings, "listeners", listeners, "--host, --port")
    directories = settings.log_dirs or settings.log_dir
    notes += filter(None, [beyond_the_brokers(settings)])
    # The interpreter's exit restores the default actions, so block the signals before that.
    atexit.register(signal.pthread_sigmask, signal.SIG_BLOCK, _STOP_SIGNALS)
    for number in _STOP_SIGNALS:  # until the server handles them; removes a temporary directory
        signal.signal(number, _end)
    with _data_directory(directories) as directory:
        settings = with_flag(settings, "log.dirs", directory, "--data-dir")
        settings = _secured(settings, Path(directory))
        logging_setup.set_up(settings.broker_lite_log_level, settings.broker_lite_log_format)
        try:
            tell = partial(_tell_ready, settings, Path(directory), partial(on_ready, settings))
            with masked(settings.broker_lite_umask):
                return _run(settings, Path(directory), not directories, notes, tell)
        finally:
            for number in _STOP_SIGNALS:  # another signal must not interrupt the removal
                signal.signal(number, _do_nothing)


def _flags(options: argparse.Namespace) -> dict[str, tuple[str, str]]:
    """Return the settings that have their own flags."""
    flags: dict[str, tuple[str, str]] = {}
    for name, text, flag in (
        ("node.id", options.node_id, "--node-id"),
        ("broker.lite.brokers", options.brokers, "--brokers"),
        ("broker.lite.processes", options.processes, "--processes"),
        ("broker.lite.racks", options.racks, "--racks"),
        ("broker.lite.control", options.control, "--control"),
        ("broker.lite.script", options.script, "--script"),
        ("broker.lite.log.level", options.log_level, "--log-level"),
        ("broker.lite.log.format", options.log_format, "--log-format"),
        ("log.dirs", options.data_dir and str(options.data_dir), "--data-dir"),
        ("broker.lite.topics", options.topic and "\n".join(options.topic), "--topic"),
        ("broker.lite.topics.file", options.topics_file, "--topics-file"),
        ("broker.lite.seed.file", options.seed_file, "--seed-file"),
        ("broker.lite.security", options.security, "--security"),
        ("broker.lite.security.users", options.user and "\n".join(options.user), "--user"),
        ("broker.lite.security.san", options.san and ",".join(options.san), "--san"),
        ("broker.lite.security.only", options.security_only, "--security-only"),
        ("broker.lite.security.fault", options.security_fault, "--security-fault"),
    ):
        if text is not None:
            flags[name] = (text, flag)
    return flags


def _secured(settings: Settings, data_dir: Path) -> Settings:
    """Return the settings with those that a word of security stands for."""
    if not any(name.startswith(_SECURITY) for name in settings.given):
        return settings
    from broker_lite.settings.sources.one_word import secured

    settings = secured(settings, data_dir)
    if not settings.broker_lite_security or _CONTROL_SETTING in settings.given:
        return settings
    return with_flag(settings, _CONTROL_SETTING, _CONTROL, _NOBODY)


def _do_nothing(_signal: int, _frame: FrameType | None) -> None:
    """Ignore a signal: the process is already exiting."""


def _end(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(0)


def _data_directory(directories: Sequence[str] | None) -> AbstractContextManager[str]:
    """Return the configured directory, else a temporary one that the context removes."""
    if directories:
        return nullcontext(directories[0])
    from tempfile import TemporaryDirectory

    return TemporaryDirectory(prefix="broker-lite-", ignore_cleanup_errors=True)


def _run(
    settings: Settings,
    data_dir: Path,
    is_temporary: bool,
    warnings: Sequence[str],
    ready: Callable[[str], None],
) -> int:
    import logging

    logger = logging.getLogger("broker_lite.serve")
    for warning in warnings:
        logger.warning("%s", warning)
    if is_temporary:
        logger.warning("data directory is temporary, it is removed at exit path=%s", data_dir)
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"data directory {data_dir}: {error.strerror}") from error
    if settings.broker_lite_security:
        from broker_lite.security.one_word.keep import prepare

        prepare(settings, data_dir, time.time())
    # Imported objects stay, and looking for garbage among them takes a twelfth of the import time.
    # The server enables garbage collection again when it is ready.
    gc.disable()
    try:
        from broker_lite.server.run import serve

        return serve(
            settings,
            data_dir=data_dir,
            ready=ready,
            durable=not is_temporary,
            bench=_bench(settings),
        )
    finally:
        gc.enable()


def _bench(settings: Settings) -> "Door | None":
    """Return the test bench, if the settings ask for its API or have a script."""
    if not (settings.broker_lite_control or settings.broker_lite_script):
        return None
    from broker_lite.testbench.door import Door, address_of

    # Containers that share a network must not fail for a port that nobody asked for.
    is_needed = settings.origin_of(_CONTROL_SETTING) not in (IMAGE, _NOBODY)
    address = address_of(settings.broker_lite_control)
    return Door(address, is_needed=is_needed, script=settings.broker_lite_script)


def _tell_ready(
    settings: Settings, data_dir: Path, on_ready: Callable[[str], None], address: str
) -> None:
    elapsed_ms = round((time.clock_gettime(time.CLOCK_BOOTTIME) - _started_s()) * 1000)
    try:
        print(f"broker-lite {__version__} ready on {address} in {elapsed_ms} ms", flush=True)
        if settings.broker_lite_security:
            from broker_lite.commands.shared.secured_lines import secured_lines

            print("\n".join(secured_lines(settings, address, data_dir)), flush=True)
        on_ready(address)
    except OSError as error:
        drop_output()
        reason = error.strerror
        print(f"broker-lite: ready on {address}; standard output: {reason}", file=sys.stderr)


def _started_s() -> float:
    """Return when this process started, in seconds since the machine's boot.

    Without /proc, it is the time when this module was imported.
    """
    try:
        fields = Path("/proc/self/stat").read_text("ascii").rpartition(")")[2].split()
    except OSError:
        return _IMPORTED_S
    return int(fields[_START_TIME_FIELD]) / os.sysconf("SC_CLK_TCK")
