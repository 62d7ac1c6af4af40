"""Changes of configs: parse `--add-config` and `--delete-config`, and send the request."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from broker_lite.client import Client
from broker_lite.client.client_properties import read_properties
from broker_lite.commands.configs.entries import BROKER, BROKER_LOGGER, Resource
from broker_lite.commands.shared.kafka_errors import check_told
from broker_lite.errors import SettingsError
from broker_lite.wire import messages

_SET: Final = 0
_DELETE: Final = 1
_COMMA_OUTSIDE_BRACKETS: Final = re.compile(r",(?![^\[\]]*\])")


def changes_of(
    added: str | None, added_file: Path | None, deleted: str | None
) -> Mapping[str, str | None]:
    """Combine the changes of all flags.

    Args:
        added: `name=value,name=[value,value]`.
        added_file: a file of properties to set; `added` wins over it.
        deleted: comma-separated names.

    Returns:
        The new values by name; None removes one.

    Raises:
        SettingsError: there is no change, or one cannot be parsed.
    """
    changes: dict[str, str | None] = {}
    if added_file is not None:
        changes |= read_properties(added_file)
    for part in _COMMA_OUTSIDE_BRACKETS.split(added or ""):
        if part.strip():
            name, value = _assignment(part)
            changes[name] = value
    for name in (deleted or "").split(","):
        if name.strip():
            changes[name.strip()] = None
    if not changes:
        raise SettingsError("--alter needs --add-config, --add-config-file or --delete-config")
    return changes


def alter(client: Client, resource: Resource, changes: Mapping[str, str | None]) -> None:
    """Change configs of one resource.

    Raises:
        ClientError: the broker refused; nothing has changed.
    """
    request = messages.IncrementalAlterConfigsRequest
    kind, name = resource
    value = request(
        resources=[
            request.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    request.AlterableConfig(
                        name=config, config_operation=_DELETE if text is None else _SET, value=text
                    )
                    for config, text in changes.items()
                ],
            )
        ]
    )
    of_a_broker = kind in {BROKER, BROKER_LOGGER} and name
    node_id = int(name) if of_a_broker else client.controller_id()
    (result,) = client.request(value, node_id=node_id).responses
    check_told(result.resource_name, result.error_code, result.error_message)


def _assignment(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise SettingsError(
            f"--add-config {text.strip()}: not NAME=VALUE, or NAME=[VALUE,VALUE] with commas"
        )
    value = value.strip()
    if value.startswith("[") and value.endswith("]"):
        value = value[1:-1]
    return name.strip(), value
