"""House rules that no linter knows; what each test returns is the list of what breaks it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_lite.handler.table import APIS
from tests.tidy.project_files import ROOT, project_files, python_files, text_of, tree_of

MODULE_LINES_MAX = 400
FUNCTION_LINES_MAX = 59  # without the docstring
FUNCTION_LINES_TARGET = 40

# one record, read top to bottom, is one function
LONG_FUNCTIONS = {"broker_lite/record/scan.py read_record"}

# Modules that are tested from another file than their mirror's.
TESTED_ELSEWHERE: dict[str, tuple[str, ...]] = {
    "__main__": ("test_cli",),
    "commands/config": ("test_cli",),
    "commands/configs/entries": ("commands/configs/test_command", "commands/topics/test_command"),
    "commands/shared/descriptors": ("test_cli",),
    "commands/serve": ("test_cli",),
    "commands/sources": ("test_cli",),
    "commands/spark/compact": ("pipeline/spark/jobs/test_commands",),
    "commands/spark/diff": ("pipeline/spark/jobs/test_commands",),
    "commands/spark/export": ("pipeline/spark/jobs/test_commands",),
    "commands/spark/report": ("pipeline/spark/jobs/test_commands",),
    "commands/spark/verify": ("pipeline/spark/jobs/test_commands",),
    "commands/topics/describe": ("commands/topics/test_command",),
    "coordinator/assignors/assignor": (
        "coordinator/assignors/test_range",
        "coordinator/assignors/test_uniform",
    ),
    "coordinator/assignors/by_name": ("coordinator/consumer/test_heartbeat",),
    "coordinator/consumer/changes": (
        "coordinator/consumer/test_heartbeat",
        "coordinator/consumer/test_group",
    ),
    "commands/log/dump/batches": ("commands/log/dump/test_command",),
    "commands/shared/internal_records": ("commands/log/dump/test_command",),
    "commands/log/dump/index_checks": ("commands/log/dump/test_command",),
    "commands/log/dump/as_json": ("commands/log/dump/test_command",),
    "commands/log/dump/small_files": ("commands/log/dump/test_command",),
    "commands/log/actions": ("commands/log/dump/test_command", "commands/log/test_verify"),
    "commands/log/files": ("commands/log/dump/test_command",),
    "commands/log/copies": ("commands/log/test_transfer",),
    "commands/log/export": ("commands/log/test_transfer",),
    "commands/log/import_logs": ("commands/log/test_transfer",),
    "commands/log/metadata": ("commands/log/test_transfer",),
    "commands/log/repair": ("commands/log/test_transfer",),
    "commands/log/sources": ("commands/log/test_transfer",),
    "commands/shared/message_json": ("commands/log/dump/test_command",),
    "commands/shared/verification_text": ("commands/log/test_verify",),
    "coordinator/consumer/core": ("coordinator/consumer/test_group",),
    "coordinator/consumer/member": (
        "coordinator/consumer/test_group",
        "coordinator/consumer/test_reconcile",
    ),
    "coordinator/consumer/replay": (
        "coordinator/consumer/test_records",
        "coordinator/consumer/test_machine",
    ),
    "coordinator/consumer/state": (
        "coordinator/consumer/test_group",
        "coordinator/consumer/test_machine",
    ),
    "coordinator/consumer/target": ("coordinator/consumer/test_heartbeat",),
    "coordinator/subscriptions": ("coordinator/consumer/test_regexes",),
    "coordinator/topics": ("control/test_cluster_topics",),
    "coordinator/transactions/transaction": (
        "coordinator/transactions/test_coordinator",
        "coordinator/transactions/test_machine",
    ),
    "handler/authorized": ("handler/topics/test_metadata", "handler/cluster/test_describe_cluster"),
    "handler/context": ("handler/test_dispatch",),
    "handler/fetch/partition": ("handler/fetch/test_api", "handler/fetch/test_session"),
    "handler/fetch/read": ("handler/fetch/test_api",),
    "handler/produce/flushed": ("handler/test_flushed", "handler/produce/test_many"),
    "handler/produce/append": ("handler/produce/test_api",),
    "handler/table": ("handler/test_dispatch", "handler/test_api_versions"),
    "handler/transactions/check": (
        "handler/produce/test_transaction",
        "handler/transactions/test_offset_commit",
    ),
    "log/commits": ("log/test_durable_log", "server/test_group_commit"),
    "log/config": ("log/test_roll", "log/directory/test_manager"),
    "log/local_log": ("log/test_log",),
    "log/validate/validated": ("log/validate/test_produced_batch",),
    "pipeline/audit/beside": ("commands/log/test_verify",),
    "pipeline/audit/local": ("commands/log/test_verify",),
    "pipeline/compact/group": ("pipeline/compact/test_swap",),
    "pipeline/report/data": ("pipeline/report/test_log_page",),
    "pipeline/spark/jobs/audit_source": ("pipeline/spark/jobs/test_verify",),
    "pipeline/spark/jobs/compaction_sink": ("pipeline/spark/jobs/test_compact",),
    "pipeline/spark/jobs/plain_size_source": ("pipeline/spark/jobs/test_report",),
    "record/codecs/zstd_contexts": ("record/codecs/test_zstd_stream",),
    "server/listener": ("server/test_node",),
    "testing/aio": ("testing/test_broker",),
    "testing/fixtures": ("testing/test_plugin",),
    "testing/plan": ("testing/test_child",),
    "testing/records": ("testing/test_broker",),
}

# Paths inside of Kafka's images and defaults of Kafka's: part of what is promised, of no machine.
ALLOWED_PATHS = (
    "/mnt/shared",
    "/tmp/kafka-logs",
    "/tmp/kraft-combined-logs",
    "/tmp/testcontainers_start.sh",
)


_OPEN_POINTS = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")
_MACHINE_PATHS = re.compile(r"(?<![\w.~$}/-])/(?:home|root|work|tmp|Users|private|mnt)/[\w.-]+")
# docker.io without a path is the name of a package of Debian.
_HOSTS = re.compile(
    r"registry\.npmjs|pypi\.org|pythonhosted|repo1?\.maven|proxy\.golang|sum\.golang|ghcr\.io"
    r"|docker\.io/|quay\.io|gcr\.io|crates\.io|artifactory|\bnexus\b",
    re.IGNORECASE,
)
_VERSIONS = re.compile(r"\(\d+\), versions? \d+(?:-\d+)?")


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Each function of a module with its count of lines, the docstring left out."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if ast.get_docstring(node, clean=False) is not None:
                docstring = node.body[0]
                lines -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
            yield f"{path} {node.name}", lines


def found_in_text(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path}: {match[0]}"
        for path in project_files()
        if path.name != "test_tidy.py"  # has to spell out what it looks for
        for match in pattern.finditer(text_of(path))
        if not match[0].startswith(ALLOWED_PATHS)
    ]


def test_modules_are_short() -> None:
    counts = {path: text_of(path).count("\n") for path in python_files("broker_lite", "tests")}
    assert {str(p): n for p, n in counts.items() if n > MODULE_LINES_MAX} == {}


def test_functions_are_short() -> None:
    every = dict(each for path in python_files("broker_lite", "tests") for each in functions(path))
    long = {name: lines for name, lines in every.items() if lines > FUNCTION_LINES_TARGET}
    print("above the target:", long)  # shown by pytest -rP
    long = {name: lines for name, lines in long.items() if name not in LONG_FUNCTIONS}
    assert {name: lines for name, lines in long.items() if lines > FUNCTION_LINES_MAX} == {}


def test_every_module_has_a_test_file() -> None:
    missing = []
    for path in python_files("broker_lite"):
        module = path.relative_to("broker_lite").with_suffix("")
        names = TESTED_ELSEWHERE.get(module.as_posix()) or (f"{module.parent}/test_{module.name}",)
        if path.name != "__init__.py":
            missing += [f"{path}: {n}" for n in names if not (ROOT / f"tests/{n}.py").exists()]
    assert missing == []


def test_list_of_modules_tested_elsewhere_is_current() -> None:
    stale = [
        name
        for name in TESTED_ELSEWHERE
        if not (ROOT / f"broker_lite/{name}.py").exists()
        or (ROOT / f"tests/{Path(name).parent}/test_{Path(name).name}.py").exists()
    ]
    assert stale == []


def test_nothing_is_left_open() -> None:
    assert found_in_text(_OPEN_POINTS) == []


def test_no_path_of_a_machine() -> None:
    assert found_in_text(_MACHINE_PATHS) == []


def test_no_host_of_a_registry() -> None:
    assert found_in_text(_HOSTS) == []


def test_imports_are_absolute() -> None:
    relative = [
        f"{path}:{node.lineno}"
        for path in python_files("broker_lite", "tests")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert relative == []


def test_only_the_command_line_prints() -> None:
    printing = [
        f"{path}:{node.lineno}"
        for path in python_files("broker_lite")
        if path != Path("broker_lite/cli.py") and "commands" not in path.parts
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]
    assert printing == []


@pytest.mark.parametrize("name", sorted({api.handle.__module__ for api in APIS.values()}))
def test_handlers_say_what_they_do(name: str) -> None:
    path = Path(*name.split(".")).with_suffix(".py")
    docstring = ast.get_docstring(tree_of(path)) or ""
    assert _VERSIONS.search(docstring), "the first line names API key and versions"
    assert "\nNot done: " in docstring
