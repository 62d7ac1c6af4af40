"""`broker-lite storage`: format a data directory before its first start, or describe one.

Flags are those of kafka-storage.sh. As Kafka's, `format` writes meta.properties with the cluster id
for the broker; a broker that finds no such file creates one itself. With --add-scram, the users are
in bootstrap.checkpoint, from which the first start takes them.
"""

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path

from broker_lite.commands.shared.umask import masked
from broker_lite.control.cluster.features import initial_features, supported_features
from broker_lite.control.cluster.metadata_changes import credential_change
from broker_lite.control.metadata.quorum_files import write_bootstrap_checkpoint
from broker_lite.control.users.credential_rules import Key, ScramCredential
from broker_lite.control.users.scram_arguments import parse_user
from broker_lite.errors import KafkaStorageError, SettingsError
from broker_lite.log.directory.data_directory import claim_identity, new_id
from broker_lite.log.files.checkpoints import (
    META_PROPERTIES_FILE,
    CorruptCheckpoint,
    parse_meta_properties,
    read_file,
)
from broker_lite.settings import Settings, load_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    parser.add_argument(
        "action",
        choices=("format", "info", "random-uuid"),
        help="format the directories of log.dirs, describe them, or print a new cluster id",
    )
    parser.add_argument("-c", "--config", type=Path, metavar="FILE", help="server.properties")
    parser.add_argument(
        "-t", "--cluster-id", metavar="ID", help="cluster id of the new directories"
    )
    parser.add_argument(
        "-g", "--ignore-formatted", action="store_true", help="leave formatted directories alone"
    )
    parser.add_argument(
        "-S",
        "--add-scram",
        action="append",
        default=[],
        metavar="USER",
        help="a user of SCRAM: SCRAM-SHA-256=[name=alice,password=secret]; also with iterations=, "
        "or saltedpassword= and salt= in base64",
    )
    for names in (("-s", "--standalone"), ("-N", "--no-initial-controllers")):
        parser.add_argument(*names, action="store_true", help="ignored: there is one node")
    for names in (
        ("-I", "--initial-controllers"),
        ("-r", "--release-version"),
        ("-f", "--feature"),
    ):
        parser.add_argument(*names, action="append", help="ignored")


def run(options: argparse.Namespace) -> int:
    """Run the chosen action."""
    if options.action == "random-uuid":
        print(new_id())
        return 0
    if options.config is None:
        raise SettingsError(f"storage {options.action} needs --config")
    settings = load_settings(options.config, os.environ, (), flags={}, warnings=[])
    directory = next(map(Path, settings.log_dirs or settings.log_dir or ()), None)
    if options.action == "format" and options.cluster_id is None:
        raise SettingsError("storage format needs --cluster-id; storage random-uuid prints one")
    if directory is None:
        print("There is no log.dirs: a broker uses a temporary directory.")
        return 0
    if options.action == "info":
        return _info(directory)
    return _format(directory, settings, options)


def _format(directory: Path, settings: Settings, options: argparse.Namespace) -> int:
    """Write the identity of a directory, unless it has one."""
    formatted = (directory / META_PROPERTIES_FILE).exists()
    if formatted and not options.ignore_formatted:
        raise SettingsError(
            f"Log directory {directory} is already formatted. Use --ignore-formatted to ignore"
            " this directory and format the others."
        )
    if formatted:
        print("All of the log directories are already formatted.")
        return 0
    users = [parse_user(argument, os.urandom) for argument in options.add_scram]
    try:
        with masked(settings.broker_lite_umask):
            directory.mkdir(parents=True, exist_ok=True)
            if users:
                _write_users(directory, settings, users)
            claim_identity(directory, node_id=settings.node_id, cluster_id=options.cluster_id)
    except (OSError, KafkaStorageError) as caught:
        error = caught.__cause__ if isinstance(caught, KafkaStorageError) else caught
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"data directory {directory}: {reason}") from caught
    print(f"Formatting metadata directory {directory}.")
    return 0


def _write_users(
    directory: Path, settings: Settings, users: Sequence[tuple[Key, ScramCredential]]
) -> None:
    """Write the users with whom the cluster begins, where Kafka's command writes them.

    Raises:
        KafkaStorageError: that is not possible.
    """
    features = initial_features(settings.broker_lite_features, supported_features(settings.emulate))
    records = [credential_change(*key, credential) for key, credential in users]
    now_ms = time.time_ns() // 1_000_000
    write_bootstrap_checkpoint(directory, features, records, now_ms=now_ms)


def _info(directory: Path) -> int:
    """Describe a directory; return 1 if something is missing."""
    try:
        text = read_file(directory / META_PROPERTIES_FILE)
        meta = None if text is None else parse_meta_properties(text)
    except (OSError, CorruptCheckpoint) as error:
        raise SettingsError(f"data directory {directory}: {error}") from error
    problem = None if directory.is_dir() else f"{directory} does not exist"
    if problem is None:
        print(f"Found log directory:\n  {directory}\n")
        problem = None if meta else f"{directory} is not formatted."
    if meta is not None:
        print(
            f"Found metadata: {{cluster.id={meta.cluster_id}, directory.id={meta.directory_id},"
            f" node.id={meta.node_id}, version=1}}\n"
        )
    if problem is not None:
        print(f"Found problem:\n  {problem}\n")
    return 0 if problem is None else 1
