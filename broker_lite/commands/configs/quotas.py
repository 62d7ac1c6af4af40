"""Prints and changes quotas of users, clients and addresses, for `configs`.

Source: ConfigCommand.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Final

from broker_lite.client import Client, check
from broker_lite.commands.configs.credentials import (
    alter_credentials,
    describe_credentials,
    has_credentials,
)
from broker_lite.commands.shared.kafka_errors import exception_text
from broker_lite.errors import ClientError, SettingsError
from broker_lite.wire import messages

USERS: Final = "users"
CLIENTS: Final = "clients"
IPS: Final = "ips"
QUOTA_TYPES: Final = (USERS, CLIENTS, IPS)

_DEFAULT: Final = ""  # the name of the default quota
_KINDS: Final = {USERS: "user", CLIENTS: "client-id", IPS: "ip"}
_TITLES: Final = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}
_CLIENT_QUOTAS: Final = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
)
_IP_QUOTAS: Final = ("connection_creation_rate",)
_EXACTLY, _THE_DEFAULT, _ANY = range(3)


def check_entities(kinds: Sequence[str], names: Sequence[str], *, alters: bool) -> None:
    """Refuse wrong combinations of types and names.

    Args:
        kinds: one of QUOTA_TYPES, or users and clients.
        names: one per type; a missing one means every entity of the type.
        alters: whether quotas are changed, which needs all names.

    Raises:
        SettingsError: the types or names do not fit together.
    """
    if len(kinds) > 1 and sorted(kinds) != [CLIENTS, USERS]:
        raise SettingsError("Only 'users' and 'clients' entity types may be specified together")
    if len(names) > len(kinds):
        raise SettingsError("More entity names specified than entity types")
    if alters and len(names) < len(kinds):
        raise SettingsError(
            "--entity-name or --entity-default must be specified with each --entity-type for"
            " --alter"
        )


def describe_quotas(client: Client, kinds: Sequence[str], names: Sequence[str]) -> None:
    """Print quotas, and the SCRAM credentials of users."""
    for entity, values in _quotas(client, kinds, names):
        parts = [
            f"the default {title}" if entity[kind] is None else f"{title} '{entity[kind]}'"
            for kind, title in _TITLES.items()
            if kind in entity
        ]
        quotas = ", ".join(f"{name}={double_text(value)}" for name, value in values.items())
        print(f"Quota configs for {', '.join(parts)} are {quotas}")
    if list(kinds) == [USERS] and _DEFAULT not in names:
        describe_credentials(client, names)


def alter_quotas(
    client: Client, kinds: Sequence[str], names: Sequence[str], changes: Mapping[str, str | None]
) -> None:
    """Set and remove quotas of one entity, or credentials of one user.

    Args:
        client: of the cluster.
        kinds: the types of the entity.
        names: one per type.
        changes: the new values by name; None removes one.

    Raises:
        SettingsError: a quota is unknown, or a value is not a number.
        ClientError: the broker refused, or a quota to remove is not set; nothing has changed.
    """
    if list(kinds) == [USERS] and has_credentials(changes):
        if names[0] == _DEFAULT:
            raise SettingsError(
                "The use of --entity-default or --user-defaults is not allowed with User SCRAM"
                " Credentials using --bootstrap-server."
            )
        alter_credentials(client, names[0], changes)
        return
    _check_names(kinds, changes)
    found = [values for _, values in _quotas(client, kinds, names)]
    current: Collection[str] = found[0] if found else ()
    invalid = [name for name, value in changes.items() if value is None and name not in current]
    if invalid:
        raise ClientError(f"Invalid config(s): {','.join(invalid)}")
    make = messages.AlterClientQuotasRequest
    entry = make.EntryData(
        entity=[
            make.EntityData(entity_type=_KINDS[kind], entity_name=name or None)
            for kind, name in zip(kinds, names, strict=True)
        ],
        ops=[
            make.OpData(key=name, value=_number(name, value), remove=value is None)
            for name, value in changes.items()
        ],
    )
    answer = client.request(make(entries=[entry]), node_id=client.controller_id())
    for each in answer.entries:
        if each.error_code:
            raise ClientError(exception_text(each.error_code, each.error_message))


def double_text(value: float) -> str:
    """Format a number as Java prints a double."""
    if value and not 1e-3 <= abs(value) < 1e7:
        digits, _, exponent = repr(value).partition("e")
        if not exponent:
            digits, _, exponent = f"{value:.{_digits(value) - 1}e}".partition("e")
        return f"{digits}{'' if '.' in digits else '.0'}E{int(exponent)}"
    return repr(float(value))


def _digits(value: float) -> int:
    """Return how many digits identify a number."""
    text = repr(abs(value)).removesuffix(".0").replace(".", "").lstrip("0")
    return max(len(text.rstrip("0")), 1)


def _check_names(kinds: Sequence[str], changes: Mapping[str, str | None]) -> None:
    kind = CLIENTS if CLIENTS in kinds else kinds[0]
    known = _IP_QUOTAS if kind == IPS else _CLIENT_QUOTAS
    unknown = [name for name in changes if name not in known]
    if not unknown:
        return
    what = {IPS: "connection quota", CLIENTS: "quota"}.get(kind, "quota and SCRAM credential")
    action = "deleted" if changes[unknown[0]] is None and kind != IPS else "added"
    names = ",".join(unknown)
    if kind != IPS:  # as Scala prints its collections
        collection = "Set" if action == "added" else "ArrayBuffer"
        names = f"{collection}({', '.join(unknown)})"
    raise SettingsError(
        f"Only {what} configs can be {action} for '{kind}' using --bootstrap-server. Unexpected"
        f" config names: {names}"
    )


def _number(name: str, text: str | None) -> float:
    try:
        return 0.0 if text is None else float(text)
    except ValueError:
        raise SettingsError(f"Cannot parse quota configuration value for {name}: {text}") from None


def _quotas(
    client: Client, kinds: Sequence[str], names: Sequence[str]
) -> Iterable[tuple[dict[str, str | None], dict[str, float]]]:
    """Yield entities with their quotas."""
    make = messages.DescribeClientQuotasRequest
    components = []
    for kind, name in zip_longest(kinds, names):
        match = _ANY if name is None else _EXACTLY if name else _THE_DEFAULT
        components.append(
            make.ComponentData(entity_type=_KINDS[kind], match_type=match, match=name or None)
        )
    answer = client.request(make(components=components, strict=True))
    check("quotas", answer.error_code, answer.error_message)
    for entry in answer.entries or ():
        yield (
            {each.entity_type: each.entity_name for each in entry.entity},
            {each.key: each.value for each in entry.values},
        )
