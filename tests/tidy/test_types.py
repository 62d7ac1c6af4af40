"""What mypy says of right and wrong uses of messages and settings; a snippet is a file to it."""

import re
from pathlib import Path

import pytest
from mypy import api

from tests.tidy.project_files import ROOT

_HEAD = """\
from broker_lite.settings import Settings
from broker_lite.wire import messages

"""

RIGHT = {
    "fields": """
def join(request: messages.JoinGroupRequest) -> tuple[str, str | None]:
    return request.protocols[0].name, request.group_instance_id
""",
    "settings": """
size: int = Settings().log_segment_bytes
roll_ms: int | None = Settings().log_roll_ms
names: tuple[str, ...] = Settings().log_cleanup_policy
""",
    "structs": """
topic = messages.MetadataResponse.MetadataResponseTopic(name=None, partitions=[])
response = messages.MetadataResponse(topics=[topic], controller_id=1)
response.topics.append(topic)
assert not topic.unknown_tags
""",
    "codecs": """
request, end = messages.FetchRequest.decode(b"", messages.FetchRequest.max_version)
wait_ms: int = request.max_wait_ms
body: bytes = messages.FetchRequest.encode(request, 4)
any_of_them: messages.MessageType = messages.message("FetchRequest")
same: messages.MessageType = messages.FetchRequest
""",
    "a request knows its response": """
from typing import TypeVar
from broker_lite.wire.structs import Struct

R = TypeVar("R", bound=Struct)

def ask(request: "messages.Request[R]") -> R:
    raise NotImplementedError

cluster_id: str | None = ask(messages.MetadataRequest()).cluster_id
""",
}

WRONG = {
    "a misspelled field of a request": (
        "def f(request: messages.JoinGroupRequest) -> object: return request.group_idd",
        '"JoinGroupRequest" has no attribute "group_idd"',
    ),
    "a misspelled field of a struct in a request": (
        "def f(r: messages.JoinGroupRequest) -> object: return r.protocols[0].nam",
        '"JoinGroupRequestProtocol" has no attribute "nam"',
    ),
    "a misspelled argument": (
        "messages.MetadataResponse(cluster=None)",
        'Unexpected keyword argument "cluster" for "MetadataResponse"',
    ),
    "a field of a wrong type": (
        "messages.MetadataResponse(controller_id='1')",
        '"controller_id" to "MetadataResponse" has incompatible type "str"; expected "int"',
    ),
    "an assignment of a wrong type": (
        "messages.MetadataResponse().throttle_time_ms = None",
        'expression has type "None", variable has type "int"',
    ),
    "a field that may be null": (
        "def f(request: messages.JoinGroupRequest) -> str: return request.group_instance_id",
        'Incompatible return value type (got "str | None", expected "str")',
    ),
    "a struct of another message": (
        "messages.MetadataResponse(topics=[messages.FetchRequest.FetchTopic()])",
        'expected "MetadataResponseTopic"',
    ),
    "no struct": (
        "messages.MetadataResponse.Topic()",
        '"type[MetadataResponse]" has no attribute "Topic"',
    ),
    "a misspelled setting": (
        "Settings().log_segment_byte",
        '"Settings" has no attribute "log_segment_byte"',
    ),
    "a setting of another type": (
        "text: str = Settings().log_segment_bytes",
        'expression has type "int", variable has type "str"',
    ),
    "a setting that may be null": (
        "hours: int = Settings().log_roll_ms",
        'expression has type "int | None", variable has type "int"',
    ),
    "no message": ("messages.MetadataAnswer()", 'Module has no attribute "MetadataAnswer"'),
}


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What mypy says of each snippet, all of them in one run."""
    folder = tmp_path_factory.mktemp("snippets")
    snippets = {**RIGHT, **{name: snippet for name, (snippet, _) in WRONG.items()}}
    files = {}
    for number, (name, snippet) in enumerate(snippets.items()):
        path = folder / f"snippet_{number}.py"
        path.write_text(f"{_HEAD}{snippet}\n")
        files[path.name] = name
    configured = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(folder / "c")]
    out, problem, _ = api.run([*configured, *map(str, sorted(folder.glob("*.py")))])
    assert not problem
    found: dict[str, list[str]] = {name: [] for name in snippets}
    for line in out.splitlines():
        if match := re.match(r"(.*?):\d+: error: (.*)", line):
            found[files[Path(match[1]).name]].append(match[2])
    return found


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_passes(name: str, errors: dict[str, list[str]]) -> None:
    assert errors[name] == []


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_fails(name: str, errors: dict[str, list[str]]) -> None:
    [error] = errors[name]
    assert WRONG[name][1] in error
