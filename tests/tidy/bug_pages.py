"""The part of the docs about bugs of clients, made from the scripts and the table of verdicts."""

from collections.abc import Iterable

from tests.catalogue.bug import bug_of, names
from tests.catalogue.table import NAMES, verdicts

_JIRA = "KAFKA-"


def client_bugs() -> Iterable[str]:
    """Each bug: what it is, who tells of it, and which clients have it today."""
    yield "Tried with " + ", ".join(f"{NAMES[c]} {v}" for c, v in verdicts().versions.items()) + "."
    yield ""
    yield "| Bug | Situation, and what a right client does | Threads | Stumble | Stand |"
    yield "| --- | --- | --- | --- | --- |"
    for name in names():
        bug = bug_of(name)
        cells = [
            f"{_cell(bug.title)} (`{name}`)",
            f"{_cell(bug.situation)} *{_cell(bug.right)}*",
            ", ".join(map(_link, bug.threads)),
            _clients(verdicts().stumbles.get(name, ()), strong=True),
            _clients(verdicts().stands.get(name, ())),
        ]
        yield f"| {' | '.join(cells)} |"


def bugs_by_client() -> Iterable[str]:
    """How many bugs each client was tried on, and over how many it stumbles."""
    yield "| Client | Tried on | Stumbles over |"
    yield "| --- | --- | --- |"
    for client in NAMES:
        rows = [verdict for _, _, verdict in verdicts().rows((client,))]
        yield f"| {NAMES[client]} | {len(rows)} | {rows.count('stumbles')} |"


def _link(thread: str) -> str:
    if thread.startswith(_JIRA):
        return f"[{thread}](https://issues.apache.org/jira/browse/{thread})"
    repository, _, number = thread.partition("#")
    return f"[{repository.partition('/')[2]}#{number}](https://github.com/{repository}/issues/{number})"


def _clients(clients: Iterable[str], *, strong: bool = False) -> str:
    mark = "**" if strong else ""
    return ", ".join(f"{mark}{NAMES[client]}{mark}" for client in clients)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("_", "\\_")
