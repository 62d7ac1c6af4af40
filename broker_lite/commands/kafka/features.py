"""`kafka-features`: print the features of the cluster with their levels, and change them.

Flags and output are those of kafka-features.sh.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import Final

from broker_lite import __version__
from broker_lite.client import Client, check
from broker_lite.commands.kafka.feature_levels import (
    METADATA_VERSION,
    dependency_lines,
    level_text,
    metadata_level,
    release_levels,
    release_lines,
)
from broker_lite.commands.shared.connecting import add_connection, connect
from broker_lite.commands.shared.kafka_errors import exception_text
from broker_lite.errors import ClientError, SettingsError
from broker_lite.wire import messages

_UPGRADE: Final = 1
_SAFE_DOWNGRADE: Final = 2
_UNSAFE_DOWNGRADE: Final = 3
_TIMEOUT_MS: Final = 60_000
_LEVEL_MAX: Final = 32_767


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the tool."""
    add_connection(parser, with_controller=True)
    actions = parser.add_subparsers(dest="action", metavar="COMMAND", required=True)
    actions.add_parser("describe", help="print the current and the supported levels")
    for name, text in (("upgrade", "raise levels"), ("downgrade", "lower levels")):
        action = actions.add_parser(name, help=text)
        action.add_argument("--metadata", metavar="NAME", help="the level of metadata.version")
        action.add_argument("--release-version", metavar="NAME", help="all levels of a release")
        _add_change(action, metavar="NAME=LEVEL")
    _add_change(actions.add_parser("disable", help="set levels to 0"), metavar="NAME")
    mapping = actions.add_parser("version-mapping", help="print the levels of a release")
    mapping.add_argument("--release-version", metavar="NAME")
    needing = actions.add_parser("feature-dependencies", help="print the dependencies of levels")
    needing.add_argument("--feature", action="append", required=True, metavar="NAME=LEVEL")


def run(options: argparse.Namespace) -> int:
    """Run the chosen action; two of them need no broker."""
    if options.action == "version-mapping":
        print(*release_lines(options.release_version), sep="\n")
    elif options.action == "feature-dependencies":
        for text in options.feature:
            print(*dependency_lines(*_name_and_level(text)), sep="\n")
    elif options.action == "describe":
        with connect(options) as client:
            _describe(client)
    else:
        _change(options, _READERS[options.action](options))
    return 0


def _add_change(parser: argparse.ArgumentParser, *, metavar: str) -> None:
    parser.add_argument("--feature", action="append", default=[], metavar=metavar)
    parser.add_argument(
        "--dry-run", action="store_true", help="only check whether the change is possible"
    )
    parser.add_argument("--unsafe", action="store_true", help="even if metadata is lost")


def _describe(client: Client) -> None:
    answer = client.request(_versions_request())
    check("features", answer.error_code)
    finalized = {each.name: each.max_version_level for each in answer.finalized_features}
    epoch = answer.finalized_features_epoch
    for each in sorted(answer.supported_features, key=lambda each: str(each.name)):
        columns = (
            ("Feature", each.name, 42),
            ("SupportedMinVersion", level_text(each.name, each.min_version), 17),
            ("SupportedMaxVersion", level_text(each.name, each.max_version), 17),
            ("FinalizedVersionLevel", level_text(each.name, finalized.get(each.name, 0)), 17),
            ("Epoch", "-" if epoch < 0 else str(epoch), 0),
        )
        print("".join(f"{name}: {text:<{width}}" for name, text, width in columns))


def _versions_request() -> messages.ApiVersionsRequest:
    """A request for versions and features; brokers refuse one that names no client."""
    return messages.ApiVersionsRequest(
        client_software_name="broker-lite", client_software_version=__version__
    )


def _levels(options: argparse.Namespace) -> dict[str, int]:
    """Return the levels for `upgrade` or `downgrade`."""
    if options.release_version is not None:
        if options.feature or options.metadata is not None:
            raise SettingsError("--release-version excludes --feature and --metadata")
        levels = release_levels(options.release_version)
        if options.action == "upgrade":
            return {name: level for name, level in levels.items() if level}
        return levels
    levels = {}
    if options.metadata is not None:
        print(" `metadata` flag is deprecated and may be removed in a future release.")
        levels[METADATA_VERSION] = metadata_level(options.metadata)
    for text in options.feature:
        name, level = _name_and_level(text)
        _once(levels, name)
        levels[name] = level
    return levels


def _disabled(options: argparse.Namespace) -> dict[str, int]:
    levels: dict[str, int] = {}
    for name in options.feature:
        _once(levels, name)
        levels[name] = 0
    return levels


_READERS: Final[Mapping[str, Callable[[argparse.Namespace], dict[str, int]]]] = {
    "upgrade": _levels,
    "downgrade": _levels,
    "disable": _disabled,
}


def _once(levels: Mapping[str, int], name: str) -> None:
    if name in levels:
        raise SettingsError(f"Feature {name} was specified more than once.")


def _change(options: argparse.Namespace, levels: Mapping[str, int]) -> None:
    """Send all changes in one request and print the result of each.

    Raises:
        SettingsError: no change is given.
        ClientError: the broker refused some; the reasons are printed.
    """
    action = options.action
    if not levels:
        raise SettingsError(f"You must specify at least one feature to {action}")
    with connect(options) as client:
        refusals = _ask(client, options, levels)
    can, was = ("Can not", "can be") if options.dry_run else ("Could not", "was")
    for name in sorted(levels):
        to = "" if action == "disable" else f" to {levels[name]}"
        refusal = refusals.get(name)
        if refusal is None:
            print(f"{name} {was} {action.removesuffix('e')}ed{to}.")
        else:
            print(f"{can} {action} {name}{to}. {refusal}")
    if refusals:
        sys.stdout.flush()
        raise ClientError(f"{len(refusals)} out of {len(levels)} operation(s) failed.")


def _ask(client: Client, options: argparse.Namespace, levels: Mapping[str, int]) -> dict[str, str]:
    """Send the changes; return the reason of each refusal, by feature."""
    upgrade_type = _UPGRADE
    if options.action != "upgrade":
        upgrade_type = _UNSAFE_DOWNGRADE if options.unsafe else _SAFE_DOWNGRADE
    make = messages.UpdateFeaturesRequest
    updates = [
        make.FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=upgrade_type)
        for name, level in levels.items()
    ]
    value = make(timeout_ms=_TIMEOUT_MS, feature_updates=updates, validate_only=options.dry_run)
    answer = client.request(value, node_id=client.controller_id())
    if answer.error_code:
        return dict.fromkeys(levels, exception_text(answer.error_code, answer.error_message))
    return {
        each.feature: exception_text(each.error_code, each.error_message)
        for each in answer.results
        if each.error_code
    }


def _name_and_level(text: str) -> tuple[str, int]:
    name, equals, level = text.partition("=")
    failed = f"Can't parse feature=level string {text}"
    if not equals:
        raise SettingsError(f"{failed}: equals sign not found.")
    digits = level.strip()
    if not (digits.isascii() and digits.isdigit() and int(digits) <= _LEVEL_MAX):
        raise SettingsError(f"{failed}: unable to parse {digits} as a short.")
    return name.strip(), int(digits)
