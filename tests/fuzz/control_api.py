"""Requests that schemathesis makes of the control API's OpenAPI document, good ones and wrong ones.

    python -m tests.fuzz.control_api --seed 1 --examples 1000

They go over HTTP to a broker with three nodes. Each answer is as the document says, none is a
server error, and wrong requests are refused; afterwards the broker still answers, has logged no
failure, and stops when it is told to. Waits and streams are left out: most of them last until
their time-out. A good request may be refused, because a schema cannot say all that a broker wants,
as that a topic exists.
"""

import sys
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE, STDOUT, run
from typing import Final

from tests.support.broker_process import BrokerProcess
from tests.support.command import seeded_main

_SHOWN: Final = 8000
_TIMEOUT_S: Final = 10
_LEFT_OUT: Final = r"/(wait|follow)$"


@dataclass(slots=True)
class Findings:
    """What the run saw."""

    told: str = ""
    faults: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """The figures."""
        return f"{self.told}, {len(self.faults)} faults"


def attack(seed: int, examples: int, folder: Path) -> Findings:
    """Send requests to a broker of its own.

    Args:
        seed: of what schemathesis draws.
        examples: of each operation, besides those that cover its schema.
        folder: an empty one.
    """
    found = Findings()
    arguments = (
        *("--brokers", "3", "--topic", "orders:2", "--control", "127.0.0.1:0"),
        *("--security", "sasl_plaintext"),
        *("--set", "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
    )
    with BrokerProcess(folder / "data", arguments=arguments) as broker:
        _, _, url = broker.log.partition("control API at ")
        url = url.split()[0]
        ended = run(
            _command(url, seed, examples), stdout=PIPE, stderr=STDOUT, text=True, cwd=folder
        )
        found.told = next((line for line in ended.stdout.splitlines() if " generated" in line), "")
        if ended.returncode != 0 or not found.told:
            found.faults.append(ended.stdout[-_SHOWN:])
        with urllib.request.urlopen(f"{url}/v1/ready", timeout=_TIMEOUT_S) as answer:
            if answer.status != 200:
                found.faults.append(f"/v1/ready is answered by {answer.status}")
    found.faults += [line for line in broker.log.splitlines() if " ERROR " in line]
    return found


def _command(url: str, seed: int, examples: int) -> list[str]:
    return [
        *(str(Path(sys.executable).with_name("schemathesis")), "run", f"{url}/openapi.json"),
        *("--phases", "coverage,fuzzing", "--exclude-path-regex", _LEFT_OUT),
        *("--exclude-checks", "positive_data_acceptance"),
        *("--seed", str(seed), "--max-examples", str(examples)),
        *("--request-timeout", str(_TIMEOUT_S), "--no-color"),
    ]


if __name__ == "__main__":
    sys.exit(seeded_main(attack, __doc__, count="examples", default=1000))
