"""The programs that docs/clients.md, docs/use/languages.md and go-test.md print, as they stand.

A program is the steps under one heading: files, each a fenced block below a line with its name, and
commands, each a block of `sh`. The steps are done from top to bottom in an empty folder; the last
one runs the program. One thing is replaced: the broker's address, whose port is printed as 9092
(that of its control API as 9099).
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.support.toolchain import user_cache
from tests.tidy.project_files import ROOT

PRINTED_ADDRESS: Final = "localhost:9092"
TIMEOUT_S: Final = 280

_SECTION: Final = re.compile(r"<!-- clients -->\n(.*)<!-- end: clients -->", re.DOTALL)
_HEADING: Final = re.compile(r"^## (.+)\n", re.MULTILINE)
_BLOCK: Final = re.compile(r"(?:^`(\S+)`:\n\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class File(NamedTuple):
    """A step: a file to write, named relative to the program's folder."""

    name: str
    text: str


class Command(NamedTuple):
    """A step: lines for the shell."""

    text: str


Step = File | Command


def printed(page: str) -> dict[str, list[Step]]:
    """The steps of each program on a page, by the client's language.

    Raises:
        ValueError: the section is missing, or a block is neither a command nor has a name.
    """
    section = _SECTION.search(page)
    if section is None:
        raise ValueError("no section of clients")
    _, *parts = _HEADING.split(section[1])
    titles, texts = parts[::2], parts[1::2]
    return {
        title.partition(":")[0]: list(_steps(text))
        for title, text in zip(titles, texts, strict=True)
    }


def _steps(text: str) -> Iterator[Step]:
    for name, language, body in _BLOCK.findall(text):
        if name:
            yield File(name, body)
        elif language == "sh":
            yield Command(body)
        else:
            raise ValueError(f"a block of {language} without the name of its file")


PROGRAMS: Final[Mapping[str, Sequence[Step]]] = printed(
    (ROOT / "docs/clients.md").read_text("utf-8")
)


class Program:
    """One program in a folder of its own, for the broker at one address.

    Attributes:
        environment: the variables of its commands.
    """

    def __init__(
        self, steps: Sequence[Step], folder: Path, address: str, printed: str = PRINTED_ADDRESS
    ) -> None:
        """Take the steps of a program.

        Args:
            steps: as the page has them.
            folder: which is empty.
            address: of the broker or its control API.
            printed: the address that the page has instead.
        """
        *self._preparations, self._run = steps
        self._folder = folder
        self._address = address
        self._printed = printed
        self.environment = _environment()

    def prepare(self) -> None:
        """Do every step but the last."""
        for step in self._preparations:
            self._do(step)

    def run(self) -> str:
        """Do the last step and return what it wrote to standard output."""
        return self._do(self._run)

    def _do(self, step: Step) -> str:
        text = step.text.replace(self._printed, self._address)
        match step:
            case File(name):
                path = self._folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")
                return ""
            case Command():
                return self._shell(text)

    def _shell(self, text: str) -> str:
        done = subprocess.run(
            ["sh", "-euc", text],
            cwd=self._folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
        assert done.returncode == 0, f"{text}{done.stdout}\n{done.stderr}"
        return done.stdout


def _environment() -> dict[str, str]:
    """That of the tests, with their Python, and with a place for what cargo builds of others."""
    return {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "CARGO_BUILD_BUILD_DIR": str(user_cache("cargo")),
        "CARGO_PROFILE_DEV_DEBUG": "0",  # half the time, and 219 MB for 385
    }
