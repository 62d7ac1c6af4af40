"""How test libraries start a broker in a container: the data of testcontainers.toml."""

import tomllib
from pathlib import Path
from typing import Any, NamedTuple


class StartScript(NamedTuple):
    """What one library does."""

    name: str
    port: int
    entrypoint: str | None
    command: list[str]
    variables: dict[str, str]
    path: str
    script: str
    written_inside: bool
    waits_for: str
    hands_signals_on: bool
    cluster_id: str | None
    open_port: int | None

    def options(self, port: int) -> list[str]:
        """The options of `docker run`, with a mapped port of the host."""
        found = [f"--publish=127.0.0.1:{port}:{self.port}"]
        found += [f"--env={name}={text}" for name, text in self.variables.items()]
        if self.entrypoint is not None:
            found.append(f"--entrypoint={self.entrypoint}")
        return found

    def filled_in(self, **values: str) -> str:
        """The script as it is copied."""
        text = self.script.lstrip("\n")
        # the longest name first: HOST is the beginning of another
        for name in sorted(values, key=len, reverse=True):
            text = text.replace(name, values[name])
        return text


def _read(name: str, cases: dict[str, dict[str, Any]]) -> StartScript:
    own = cases[name]
    base = cases.get(own.get("as", ""), {})
    case = {**base, **own, "variables": {**base.get("variables", {}), **own["variables"]}}
    return StartScript(
        name,
        case["port"],
        case.get("entrypoint"),
        case["command"],
        case["variables"],
        case["path"],
        case["script"],
        case.get("written_inside", False),
        case["waits_for"],
        case["started_by"] == "entry",
        case.get("cluster_id", case["variables"].get("CLUSTER_ID")),
        case.get("open_port"),
    )


_CASES = tomllib.loads(Path(__file__).with_name("testcontainers.toml").read_text())
START_SCRIPTS = [_read(name, _CASES) for name in _CASES]
