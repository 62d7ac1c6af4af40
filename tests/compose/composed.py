"""Runs the broker of a compose file without an engine: its variables, files and ports of here."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import yaml
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from broker_lite.docker_entry.sources import read_sources
from broker_lite.settings import load_settings, parse_listeners
from broker_lite.testing import Broker
from tests.support.reference_kafka import free_port

_SECRETS: Final = "/etc/kafka/secrets"
_OF_THE_IMAGE: Final = ("log.dirs", "broker.lite.control", "broker.lite.gateway.advertised")
_SCRIPTS: Final = "/opt/kafka/bin/"
_COMMAND_S: Final = 60
_CREDENTIAL: Final = re.compile(r"(?P<mechanism>SCRAM-SHA-\d+)=\[password=(?P<password>.*)\]")
_ITERATIONS: Final = 4096


class Composed:
    """A compose file whose broker runs here.

    Attributes:
        ports: of its listeners, by name.
        warnings: what the broker says about variables.
    """

    def __init__(self, file: Path, secrets: Path) -> None:
        self._folder = secrets.parent
        services = yaml.safe_load(file.read_text())["services"]
        self._init = services.pop("init", None)
        (broker,) = services.values()
        found = read_sources(
            _variables(broker["environment"], secrets),
            exists=lambda _: False,
            is_mount=lambda _: False,
            secrets=secrets,
        )
        self.warnings = list(found.warnings)
        settings = load_settings(
            None, found.environment, surroundings=found.surroundings, warnings=self.warnings
        )
        self.ports = {one.name: free_port() for one in parse_listeners(settings)}
        self.settings: dict[str, object] = {
            name: given.text for name, given in settings.given.items() if name not in _OF_THE_IMAGE
        }
        for name, host in (("listeners", "127.0.0.1"), ("advertised.listeners", "localhost")):
            self.settings[name] = ",".join(
                f"{listener}://{host}:{port}" for listener, port in self.ports.items()
            )

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the broker, and what the file has for its beginning."""
        with Broker(self.settings):
            for line in self._commands():
                self._run(*shlex.split(line))
            yield

    def _run(self, script: str, *arguments: str) -> None:
        """Run a script of Kafka's image against the internal listener."""
        address = f"127.0.0.1:{self.ports['INTERNAL']}"
        assert arguments[0] == "--bootstrap-server"
        if Path(script).name == "kafka-configs.sh":  # broker-lite's own makes no users of SCRAM
            _make_user(address, arguments)
            return
        # the command answers to the names of Kafka's scripts
        link = self._folder / Path(script).name
        link.unlink(missing_ok=True)
        link.symlink_to(Path(sys.executable).with_name("broker-lite"))
        command = [str(link), "--bootstrap-server", address, *arguments[2:]]
        subprocess.run(command, check=True, timeout=_COMMAND_S)

    def _commands(self) -> list[str]:
        if self._init is None:
            return []
        lines = self._init["command"][-1].splitlines()
        return [line for line in lines if line.startswith(_SCRIPTS)]


def _make_user(address: str, arguments: Sequence[str]) -> None:
    """Make a user as kafka-configs.sh does."""
    found = _CREDENTIAL.fullmatch(arguments[arguments.index("--add-config") + 1])
    assert found is not None
    user = arguments[arguments.index("--entity-name") + 1]
    mechanism = getattr(ScramMechanism, found["mechanism"].replace("-", "_"))
    change = UserScramCredentialUpsertion(
        user, ScramCredentialInfo(mechanism, _ITERATIONS), found["password"].encode()
    )
    admin = AdminClient({"bootstrap.servers": address})
    for future in admin.alter_user_scram_credentials([change]).values():
        future.result(_COMMAND_S)


def _variables(environment: dict[str, Any], secrets: Path) -> dict[str, str]:
    """The variables of a service as the engine passes them."""
    return {
        name: str(text).replace("$$", "$").replace(_SECRETS, str(secrets))
        for name, text in environment.items()
    }
