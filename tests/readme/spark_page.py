"""A page about Spark, step by step: its commands and its Python, as they stand.

    python -m tests.readme.spark_page [--broker HOST:PORT] docs/logs/spark.md ...

The pages are worked through from top to bottom in the current folder, one after the other. Steps
are the fenced blocks:

- `sh`: commands, each on a line of its own, or on several with a backslash at their ends;
- without a language, if it begins with `$ `: commands and what they print;
- `python`: a program, which gets a file if the line above the block has its name; else it is run,
  and a block without a language right behind it is what it prints;
- another language, or no language: text, unless a file's name is above it.

A block that cannot be done as it stands has the comment `<!-- not run: reason -->` above it.
Commands of broker-lite run in this process, so that one Java serves all of them. Pages print
another address of a broker than that of `--broker`.
"""

import argparse
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Final, NamedTuple

from broker_lite.cli import main
from tests.readme.printed_page import PRINTED_ADDRESS
from tests.tidy.project_files import ROOT

TIMEOUT_S: Final = 120

_BLOCK: Final = re.compile(
    r"(?:^<!-- not run: (?P<reason>[^\n]+) -->\n+)?"
    r"(?:^[^\n]*?`(?P<name>[\w/-]+\.\w+)`:\n\n)?"
    r"^```(?P<language>\w*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_PROMPT: Final = "$ "


class Step(NamedTuple):
    """One thing to do, and what it prints.

    Attributes:
        kind: `file`, `command` or `python`.
        text: of the file, the command or the program.
        name: of the file.
        printed: standard output; None if the page does not say.
    """

    kind: str
    text: str
    name: str = ""
    printed: str | None = None


def steps(page: str) -> list[Step]:
    """Return the steps of a page, from top to bottom."""
    found: list[Step] = []
    end_of_python: int | None = None
    for block in _BLOCK.finditer(page):
        language, body, name = block["language"], block["body"], block["name"]
        if block["reason"]:
            continue
        if name and language != "sh":
            found.append(Step("file", body, name))
        elif language == "sh":
            found.extend(Step("command", text) for text in _lines(body))
        elif language == "python":
            found.append(Step("python", body))
            end_of_python = block.end()
        elif not language and body.startswith(_PROMPT):
            found.extend(_dialogue(body))
        elif (
            not language
            and end_of_python is not None
            and not page[end_of_python : block.start()].strip()
        ):
            found[-1] = found[-1]._replace(printed=body)
    return found


def _lines(body: str) -> Iterator[str]:
    """Yield commands without comments."""
    for line in body.replace("\\\n", " ").splitlines():
        if words := shlex.split(line, comments=True):
            yield shlex.join(words)


def _dialogue(body: str) -> Iterator[Step]:
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        yield Step("command", shlex.join(shlex.split(command)), printed=printed)


def do(step: Step, names: dict[str, Any]) -> str:
    """Do a step in the current folder; return what it printed.

    Args:
        step: of a page.
        names: what the Python of the page has defined so far.

    Raises:
        AssertionError: a command ended with an error, or printed something else than the page.
    """
    printed = ""
    if step.kind == "file":
        path = Path(step.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(step.text, "utf-8")
    elif step.kind == "python":
        printed = _captured(lambda: exec(compile(step.text, "the page", "exec"), names))
    else:
        printed = _command(shlex.split(step.text))
    if step.printed is not None:  # Spark ends each table with an empty line
        is_same = printed.rstrip() == step.printed.rstrip()
        assert is_same, f"{step.text}\nprinted\n{printed}not\n{step.printed}"
    return printed


def _captured(run: Callable[[], object]) -> str:
    output = io.TextIOWrapper(io.BytesIO(), "utf-8")  # some commands write bytes
    with redirect_stdout(output):
        run()
    output.seek(0)
    return output.read()


def _command(words: list[str]) -> str:
    program, *arguments = words
    if program == "broker-lite":
        codes: list[int] = []
        printed = _captured(lambda: codes.append(main(arguments)))
        assert codes == [0], f"{shlex.join(words)}: exit code {codes[0]}\n{printed}"
        return printed
    assert program == "python", f"{shlex.join(words)}: an unknown program"
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}{done.stderr}"
    return done.stdout


def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--broker", default=PRINTED_ADDRESS)
    parser.add_argument("pages", nargs="+")
    options = parser.parse_args()
    for page in options.pages:
        names: dict[str, Any] = {"__name__": "__main__"}
        text = (ROOT / page).read_text("utf-8").replace(PRINTED_ADDRESS, options.broker)
        for step in steps(text):
            print(f"== {page}: {step.kind} {step.name or step.text}", flush=True)
            print(do(step, names), flush=True)


if __name__ == "__main__":
    _main()
