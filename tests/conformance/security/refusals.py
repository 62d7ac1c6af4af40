"""How clients call the errors of a real Kafka 4.3.1: the record, and the command that makes it.

`python -m tests.conformance.security.refusals` runs a Kafka and every client, and writes
refusals.toml anew. With names of clients, it leaves the others in the file as they are.
"""

import argparse
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from tests.conformance.clients import Builds
from tests.conformance.security.programs import Told, run_cases
from tests.conformance.security.secured import CLIENTS, kafka, refused_cases
from tests.conformance.security.spoiled import spoiled_cases, spoiled_kafka

FILE: Final = Path(__file__).with_name("refusals.toml")
_HEAD: Final = "# Made by python -m tests.conformance.security.refusals, with a real Kafka 4.3.1.\n"


def recorded() -> Mapping[str, Mapping[str, str]]:
    """The errors in the record, by client and case."""
    found: dict[str, dict[str, str]] = tomllib.loads(FILE.read_text()) if FILE.exists() else {}
    return found


def recorded_of(client: str, cases: Iterable[str]) -> dict[str, str]:
    """The errors in the record of a client's cases, which are given by their lines."""
    errors = recorded()[client]
    names = [line.split()[0] for line in cases]
    return {name: errors[name] for name in names}


def errors_of(told: Told) -> dict[str, str]:
    """The error of each case."""
    return {case: steps["error"] for case, steps in told.items()}


def write(errors: Mapping[str, Mapping[str, str]]) -> None:
    """Replace the record."""
    lines = [_HEAD]
    for client, cases in errors.items():
        lines.append(f"\n[{client}]\n")
        lines += (f'"{case}" = "{error}"\n' for case, error in sorted(cases.items()))
    FILE.write_text("".join(lines))


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clients", nargs="*", help=f"of {', '.join(CLIENTS)}; else all")
    chosen = parser.parse_args().clients or [*CLIENTS]
    errors = dict(recorded())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.joinpath("spoiled").mkdir()
        with kafka(folder / "kafka") as broker, spoiled_kafka(folder / "spoiled") as spoiled:
            builds = Builds(folder)
            for client in chosen:
                cases = [*refused_cases(client, broker), *spoiled_cases(spoiled, folder)]
                errors[client] = errors_of(run_cases(client, builds, cases, folder)[0])
    write({client: errors[client] for client in CLIENTS if client in errors})


if __name__ == "__main__":
    main()
