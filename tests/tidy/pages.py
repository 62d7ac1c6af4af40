"""The parts of README and docs that are made from the code, each between two markers."""

import inspect
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from broker_lite.handler.offered import offered
from broker_lite.handler.table import APIS, NEVER_FLEXIBLE, OLD_MIN_VERSIONS
from broker_lite.settings import DEFAULT_RELEASE, SETTINGS, Settings
from broker_lite.settings.table import rows
from broker_lite.testing import Broker, Fault, Request
from broker_lite.testing.acl_commands import AclCommands
from broker_lite.testing.bench_commands import BenchCommands
from broker_lite.testing.cluster_commands import ClusterCommands
from broker_lite.testing.groups import (
    GroupCommands,
    ShareGroup,
    SharePartition,
    StreamsGroup,
    StreamsMember,
)
from broker_lite.testing.nodes import BrokerNode
from broker_lite.testing.secured_commands import SecuredCommands
from broker_lite.testing.telemetry import ClientTelemetry, TelemetryCommands
from tests.tidy import api_pages, bug_pages, control_pages
from tests.tidy.project_files import project_files, python_files, text_of, tree_of

USEFUL_SETTINGS: Final = (
    "listeners",
    "advertised.listeners",
    "log.dirs",
    "auto.create.topics.enable",
    "num.partitions",
    "message.max.bytes",
    "log.segment.bytes",
    "compression.type",
    "emulate",
    "broker.lite.log.level",
)
"""Those of the settings that most people look for, which the README shows."""

_BY_RULE: Final = re.compile(r"(?:([A-Z]-\d+(?:, [A-Z]-\d+)*): )?(.+)\.")
_RULE: Final = re.compile(r"\b([PRVSFEGTCX])-\d+\b")
_SPEC: Final = {
    prefix: f"../spec/{page}.md"
    for prefix, page in {
        "P": "protocol",
        "R": "records",
        "V": "validation",
        "S": "segments",
        "F": "fetching",
        "E": "errors",
        "G": "groups",
        "T": "transactions",
        "C": "cluster",
        "X": "security",
    }.items()
}
_ABOUT: Final[Mapping[str, tuple[str, ...]]] = {
    "Requests": (
        "broker_lite/wire/",
        "broker_lite/protocol/",
        "broker_lite/errors/",
        "broker_lite/handler/large",
    ),
    "Produce and Fetch": (
        "broker_lite/log/validate",
        "broker_lite/log/converted_slices",
        "broker_lite/handler/fetch/api",
        "broker_lite/handler/produce/api",
        "tests/differential/produce",
    ),
    "Groups and transactions": (
        "broker_lite/coordinator/",
        "broker_lite/handler/cluster/find_coordinator",
        "tests/differential/coordinator",
    ),
    "Files": ("broker_lite/log/", "tests/differential/corruption"),
    "Topics, configs and the cluster": (
        "broker_lite/",
        "tests/differential/cluster",
        "tests/differential/config",
    ),
}
"""The headings over differences, with the places that tell them; the first that fits counts."""

_BEGIN: Final = re.compile(r"^<!-- made: (.+) -->\n", re.MULTILINE)
_NOT_DONE: Final = "Not done: "
_DIFFERENCE: Final = "A difference to Kafka: "


def apis() -> Iterable[str]:
    """The table of APIs and versions, from the handlers' table."""
    yield f"| Key | API | Offered, as by Kafka {DEFAULT_RELEASE} | Served | Flexible from |"
    yield "| --- | --- | --- | --- | --- |"
    by_default = offered(DEFAULT_RELEASE)
    for key, api in sorted(APIS.items()):
        flexible = "never" if api.flexible_from == NEVER_FLEXIBLE else str(api.flexible_from)
        lowest = min(api.min_version, OLD_MIN_VERSIONS.get(key, api.min_version))
        served = _range(lowest, api.max_version)
        told = by_default.get(key)
        versions = "" if told is None else _range(told.min_version, told.max_version)
        yield f"| {key} | {api.name} | {versions} | {served} | {flexible} |"


def _range(first: int, last: int) -> str:
    return f"{first} to {last}" if first < last else f"{last}"


def not_done() -> Iterable[str]:
    """What the handlers say that they leave out."""
    names: dict[str, list[str]] = {}
    for _, api in sorted(APIS.items()):
        names.setdefault(api.handle.__module__, []).append(api.name)
    yield "| API | Not done |"
    yield "| --- | --- |"
    for module, api_names in names.items():
        path = Path(*module.split(".")).with_suffix(".py")
        for text in _paragraphs(path, _NOT_DONE):
            yield f"| {', '.join(api_names)} | {_linked(_cell(text))} |"


def differences() -> Iterable[str]:
    """Where answers or files are not Kafka's: from docstrings and the differential tests' lists."""
    found: dict[str, list[str]] = {title: [] for title in _ABOUT}
    for path, text in _told_differences():
        title = next(title for title, places in _ABOUT.items() if str(path).startswith(places))
        found[title].append(_linked(_sentence(text)))
    for number, (title, texts) in enumerate(found.items()):
        yield from ("",) * bool(number)
        yield f"## {title}"
        yield ""
        for text in texts:
            yield f"- {text}"


def _told_differences() -> Iterable[tuple[Path, str]]:
    """Each difference with the file that has it."""
    for path in python_files("broker_lite"):
        found = [*_paragraphs(path, _DIFFERENCE)]
        told = text_of(path).count(_DIFFERENCE)
        assert len(found) == told, f"{path}: a difference is a paragraph of the module's docstring"
        for text in found:
            yield path, text
    for path in project_files():
        if path.parts[:2] == ("tests", "differential") and path.name.endswith("differences.toml"):
            table: Mapping[str, Any] = tomllib.loads(text_of(path))
            for row in table.get("difference", []):
                rules, text = _BY_RULE.fullmatch(str(row["reason"])).groups()
                yield path, f"{text} ({rules})." if rules else f"{text}."


def useful_settings() -> Iterable[str]:
    """The settings that most people look for."""
    found = {row.name: row for row in rows(Settings({}))}
    yield "| Setting | Default | Meaning |"
    yield "| --- | --- | --- |"
    for name in USEFUL_SETTINGS:
        row = found[name]
        default = f"`{row.default}`" if row.default else ""
        yield f"| `{name}` | {default} | {_cell(SETTINGS[name].doc)} |"


def all_settings() -> Iterable[str]:
    """Every setting, in three columns, so that a narrow window shows them."""
    yield "| Setting | Default | Meaning |"
    yield "| --- | --- | --- |"
    for row in rows(Settings({})):
        default = f"`{row.default}`" if row.default else ""
        facts = (
            row.type if row.allowed in (row.type, "true, false") else f"{row.type}, {row.allowed}"
        )
        facts = facts.replace("*", "\\*")
        yield f"| `{row.name}` | {default} | {_cell(row.meaning)} *({row.scope}: {facts})* |"


def broker_methods() -> Iterable[str]:
    """What a Broker of broker_lite.testing has and can do, from its docstrings."""
    yield "| Of a `Broker` | What it is or does |"
    yield "| --- | --- |"
    yield from _attributes(Broker)
    yield from _members(Broker)
    yield from _members(SecuredCommands)
    yield from _members(AclCommands)


def cluster_commands() -> Iterable[str]:
    """What a Broker of broker_lite.testing does with several brokers, from the docstrings."""
    yield "| Of a `Broker` with several brokers | What it is or does |"
    yield "| --- | --- |"
    yield from _members(ClusterCommands)


def broker_nodes() -> Iterable[str]:
    """What one broker of a cluster has and can do, from the docstrings."""
    yield "| Of a `BrokerNode` | What it is or does |"
    yield "| --- | --- |"
    yield from _members(BrokerNode)


def bench_commands() -> Iterable[str]:
    """What a Broker does about faults, recorded requests and waits, from the docstrings."""
    yield "| Of a `Broker` | What it does |"
    yield "| --- | --- |"
    yield from _members(BenchCommands)


def telemetry_commands() -> Iterable[str]:
    """What a Broker does about the metrics that clients push, from the docstrings."""
    yield "| Of a `Broker` | What it does |"
    yield "| --- | --- |"
    yield from _members(TelemetryCommands)


def client_telemetry() -> Iterable[str]:
    """What a ClientTelemetry has, from the docstrings."""
    yield "| Of a `ClientTelemetry` | What it is or does |"
    yield "| --- | --- |"
    yield from _attributes(ClientTelemetry)
    yield "| `value(metric, **labels)` | " + _cell(_description(ClientTelemetry.value)) + " |"


def group_commands() -> Iterable[str]:
    """What a Broker tells of share groups and streams groups, from the docstrings."""
    yield "| Of a `Broker` | What it does |"
    yield "| --- | --- |"
    yield from _members(GroupCommands)


def groups_of_newer_types() -> Iterable[str]:
    """What share groups and streams groups have, from the docstrings."""
    for number, kind in enumerate((ShareGroup, SharePartition, StreamsGroup, StreamsMember)):
        yield from ("",) * bool(number)
        yield f"| Of a `{kind.__name__}` | What it is |"
        yield "| --- | --- |"
        yield from _attributes(kind)


def fault_methods() -> Iterable[str]:
    """What a Fault has and can do, from the docstrings."""
    yield "| Of a `Fault` | What it is or does |"
    yield "| --- | --- |"
    yield from _attributes(Fault)
    yield from _members(Fault)


def request_methods() -> Iterable[str]:
    """What a Request has, from the docstrings."""
    yield "| Of a `Request` | What it is |"
    yield "| --- | --- |"
    yield from _attributes(Request)
    yield from _members(Request)


def _attributes(of: type) -> Iterable[str]:
    """A row for each attribute that the docstring of a class lists."""
    _, _, attributes = (inspect.getdoc(of) or "").partition("Attributes:\n")
    for attribute in re.split(r"\n {4}(?! )", f"\n{attributes}")[1:]:
        name, _, text = attribute.partition(": ")
        yield f"| `{name}` | {_cell(' '.join(text.split()))} |"


def _members(of: type) -> Iterable[str]:
    """A row for each property and method that a class itself has."""
    for name, member in vars(of).items():
        if name.startswith("_"):
            continue
        is_value = isinstance(member, property)
        shown = name if is_value else f"{name}({_parameters(member)})"
        yield f"| `{shown}` | {_cell(_description(member))} |"


def _parameters(method: Callable[..., object]) -> str:
    """The parameters of a method without self and types."""
    signature = inspect.signature(method)
    bare = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
    given = bare if isinstance(method, staticmethod) else bare[1:]
    text = str(inspect.Signature(given))[1:-1].replace("datetime.timedelta", "timedelta")
    return text.replace("timedelta(0)", "timedelta()")


def _description(member: object) -> str:
    """The text of a docstring in front of its sections."""
    text = re.split(r"\n\n(?:Args|Returns|Raises):\n", inspect.getdoc(member) or "")[0]
    return " ".join(text.split())


def ignored_settings() -> Iterable[str]:
    """Kafka's settings that have no effect here."""
    names = sorted(name for name, each in SETTINGS.items() if each.ignored)
    yield f"{len(names)} settings: {', '.join(f'`{name}`' for name in names)}."


PARTS: Final[Mapping[str, Callable[[], Iterable[str]]]] = {
    "apis": apis,
    "unserved apis": api_pages.unserved_apis,
    "not done": not_done,
    "differences": differences,
    "useful settings": useful_settings,
    "all settings": all_settings,
    "broker methods": broker_methods,
    "cluster commands": cluster_commands,
    "bench commands": bench_commands,
    "telemetry commands": telemetry_commands,
    "client telemetry": client_telemetry,
    "group commands": group_commands,
    "groups of newer types": groups_of_newer_types,
    "fault methods": fault_methods,
    "request methods": request_methods,
    "broker nodes": broker_nodes,
    "ignored settings": ignored_settings,
    "control resources": control_pages.resources,
    "control bodies": control_pages.bodies,
    "rule members": control_pages.rule_members,
    "selectors": control_pages.selector_members,
    "poisons": control_pages.poisons,
    "client bugs": bug_pages.client_bugs,
    "bugs by client": bug_pages.bugs_by_client,
}


def pages() -> list[Path]:
    """The README and every page of the docs."""
    return [
        path
        for path in project_files()
        if path == Path("README.md") or (path.parts[0] == "docs" and path.suffix == ".md")
    ]


def with_parts(page: str) -> str:
    """A page with each of its parts made anew.

    Raises:
        ValueError: a part is not known, or has no end.
    """
    for name in parts_of(page):
        if name not in PARTS:
            raise ValueError(f"there is no part {name!r}")
        begin, end = f"<!-- made: {name} -->\n", f"<!-- end: {name} -->"
        head, _, rest = page.partition(begin)
        _, has_end, tail = rest.partition(end)
        if not has_end:
            raise ValueError(f"the part {name!r} has no end")
        text = "\n".join(PARTS[name]())
        page = f"{head}{begin}\n{text}\n\n{end}{tail}"
    return page


def parts_of(page: str) -> list[str]:
    """The names of the parts that a page has markers for."""
    return _BEGIN.findall(page)


def _paragraphs(path: Path, label: str) -> Iterable[str]:
    """The paragraphs of a module's docstring, or lines in them, that begin with a label."""
    first = tree_of(path).body[:1]
    text = getattr(getattr(first[0], "value", None), "value", "") if first else ""
    for paragraph in str(text).split("\n\n"):
        _, found, rest = f"\n{paragraph.strip()}".partition(f"\n{label}")
        if found:
            yield " ".join(re.split(r"\n(?=[A-Z][a-z ]+: )", rest)[0].split())


def _linked(text: str) -> str:
    """A text for a page of docs/reference, in which ids of rules lead to the rules."""
    return _RULE.sub(lambda found: f"[{found[0]}]({_SPEC[found[1]]}#{found[0].lower()})", text)


def _sentence(text: str) -> str:
    is_name = "_" in text.partition(" ")[0]  # a field's stays as it is
    return text if is_name else text[:1].upper() + text[1:]


def _cell(text: str) -> str:
    return _sentence(text).replace("|", "\\|")
