"""`broker-lite kafka TOOL ...`: Kafka's scripts that are not commands of their own.

TOOL is the script's name without `kafka-` and `.sh`: `kafka-log-dirs.sh` is `broker-lite kafka
log-dirs`. Only the module of the chosen tool is imported.
"""

import argparse
import sys
from collections.abc import Mapping
from typing import Final

from broker_lite.commands.kafka.missing import MISSING
from broker_lite.commands.shared.subcommands import Subcommand

_FAILURE: Final = 1
_FOLDER: Final = "broker_lite.commands.kafka"
_GROUPS: Final = "broker_lite.commands.groups"
_PERF: Final = "broker_lite.commands.perf"

TOOLS: Final[Mapping[str, Subcommand]] = {
    "acls": Subcommand(f"{_FOLDER}.acls", "list, add and remove ACLs, if there is an authorizer"),
    "client-metrics": Subcommand(
        f"{_FOLDER}.client_metrics", "list and change which clients push their own metrics"
    ),
    "consumer-perf-test": Subcommand(f"{_PERF}.consumer", "measure the throughput of reading"),
    "delete-records": Subcommand(f"{_FOLDER}.delete_records", "delete the oldest records"),
    "e2e-latency": Subcommand(
        f"{_PERF}.end_to_end", "measure the latency from producer to consumer"
    ),
    "features": Subcommand(f"{_FOLDER}.features", "print and change the cluster's features"),
    "groups": Subcommand(f"{_FOLDER}.groups", "list groups of every type"),
    "leader-election": Subcommand(
        f"{_FOLDER}.leader_election", "elect preferred replicas as leaders"
    ),
    "log-dirs": Subcommand(f"{_FOLDER}.log_dirs", "print the sizes of partitions on disk"),
    "metadata-quorum": Subcommand(f"{_FOLDER}.metadata_quorum", "describe the metadata quorum"),
    "producer-perf-test": Subcommand(f"{_PERF}.producer", "measure the throughput of writing"),
    "reassign-partitions": Subcommand(
        f"{_FOLDER}.reassign_partitions", "move partitions between brokers and directories"
    ),
    "server-stop": Subcommand(f"{_FOLDER}.server_stop", "send SIGTERM to the brokers of a machine"),
    "share-groups": Subcommand(
        f"{_GROUPS}.share_command", "list, describe, reset and delete share groups"
    ),
    "streams-groups": Subcommand(
        f"{_GROUPS}.streams_command", "list, describe, reset and delete streams groups"
    ),
    "transactions": Subcommand(f"{_FOLDER}.transactions", "list, describe and abort transactions"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the tool's name and its arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "\n".join(
        ["tools:", *(f"  {name:<26} {tool.help}" for name, tool in TOOLS.items())]
    )
    parser.add_argument("tool", metavar="TOOL", help="one of the tools below")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="see TOOL --help")
    parser.set_defaults(parser_class=type(parser), parser=parser)


def run(options: argparse.Namespace) -> int:
    """Run the tool, or name the replacement for one that does not exist here."""
    name = options.tool
    if name in MISSING:
        print(f"broker-lite: {MISSING[name]}", file=sys.stderr)
        return _FAILURE
    if name not in TOOLS:
        known = ", ".join(TOOLS)
        options.parser.error(f"argument TOOL: invalid choice: '{name}' (choose from {known})")
    module = TOOLS[name].load()
    parser: argparse.ArgumentParser = options.parser_class(
        prog=f"kafka-{name}", description=module.__doc__
    )
    module.add_arguments(parser)
    code: int = module.run(parser.parse_args(options.arguments))
    return code
