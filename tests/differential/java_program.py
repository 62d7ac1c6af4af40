"""A Java program beside Kafka's jars that answers each line of its input with a line."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.support.reference_kafka import jars, java_command
from tests.support.toolchain import user_cache

_SOURCES: Final = Path(__file__).parent / "java"
_SHORT_LIVED: Final = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
_ANSWER: Final = "answer "


class JavaProgram:
    """A process that reads questions and prints answers, and perhaps what Kafka logs."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def ask(self, question: str) -> str:
        """Write a line, and return what is answered."""
        sink, source = self._process.stdin, self._process.stdout
        assert sink is not None
        assert source is not None
        sink.write(f"{question}\n")
        sink.flush()
        while not (line := source.readline()).startswith(_ANSWER):
            assert line, f"the program has ended at: {question}"
        return line.removeprefix(_ANSWER).rstrip("\n")


def compiled(name: str) -> Path:
    """The folder with the classes of a program; compiled if that was not done yet."""
    source = _SOURCES / f"{name}.java"
    folder = user_cache(f"{name}-classes")
    target = folder / f"{name}.class"
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        options = ["-cp", f"{jars()}/*", "-d", str(folder)]
        subprocess.run(["javac", *options, str(source)], check=True, timeout=120)
    return folder


def command_of(name: str, arguments: Sequence[str] = (), *, is_for_long: bool = False) -> list[str]:
    """The command line that runs a program.

    Args:
        name: of its source, without .java.
        arguments: of the program.
        is_for_long: it pays to optimise the code.
    """
    command = java_command(name, arguments)
    if not is_for_long:
        command[1:1] = _SHORT_LIVED
    command[command.index("-cp") + 1] += f":{compiled(name)}"
    return command


@contextmanager
def java_program(name: str) -> Iterator[JavaProgram]:
    """Start a program, and end it with the context."""
    with subprocess.Popen(
        command_of(name),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            yield JavaProgram(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(60)
