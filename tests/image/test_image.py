"""What the image consists of."""

import json
import re
import subprocess
import tomllib
import zlib
from collections.abc import Iterator
from typing import Any, Protocol

import pytest

from broker_lite import __version__
from broker_lite.commands.scripts import script_names
from tests.image.conftest import Figures
from tests.support.docker import PROJECT, Container, docker

UNPACKED_MAX_MB = 84
GZIPPED_MAX_MB = 31
SIZE_DIFFERENCE_MAX_MB = 1.5
"""By how much what the docs tell may be wrong: compilers and base packages differ a little."""
TOOLS = (
    "sh bash sed sleep cat echo grep cut tr env ls mkdir rm cp mv chmod touch id date head tail wc "
    "sort ps kill nc wget test timeout tee find xargs awk basename dirname printf seq python3"
)


class InImage(Protocol):
    """Runs a command in a container of the image and returns what it printed."""

    def __call__(self, *command: str, user: str = ...) -> str:
        """Run one, which has to end well."""


@pytest.fixture(scope="module")
def in_image(image: str) -> Iterator[InImage]:
    """Runs commands, all of them in one container."""
    with Container("sleep", "3600") as container:

        def run(*command: str, user: str = "1000:1000") -> str:
            return docker("exec", f"--user={user}", container.id, *command)

        yield run


@pytest.fixture(scope="module")
def config(image: str) -> dict[str, Any]:
    """The image's configuration."""
    found: dict[str, Any] = json.loads(docker("inspect", "--format={{json .Config}}", image))
    return found


def told_sizes_mb() -> tuple[int, int]:
    """The sizes in the docs: unpacked, and to download."""
    page = (PROJECT / "docs/use/docker.md").read_text()
    told = re.search(r"(\d+) MB unpacked, (\d+) MB to download", page)
    assert told is not None
    return int(told[1]), int(told[2])


def test_size(image: str, figures: Figures) -> None:
    unpacked_bytes = int(docker("inspect", "--format={{.Size}}", image))
    figures.check("size, unpacked", unpacked_bytes / 1e6, UNPACKED_MAX_MB, "MB")
    gzipped_bytes = 0
    packer = zlib.compressobj(6, wbits=31)
    with subprocess.Popen(["docker", "save", image], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while chunk := process.stdout.read(1 << 20):
            gzipped_bytes += len(packer.compress(chunk))
    assert process.returncode == 0
    gzipped_bytes += len(packer.flush())
    figures.check("size, gzipped", gzipped_bytes / 1e6, GZIPPED_MAX_MB, "MB")
    for told, size_bytes in zip(told_sizes_mb(), (unpacked_bytes, gzipped_bytes), strict=True):
        text = f"the docs tell {told} MB, and {size_bytes / 1e6:.1f} MB were measured"
        assert abs(size_bytes / 1e6 - told) <= SIZE_DIFFERENCE_MAX_MB, text


def test_how_it_runs(config: dict[str, Any]) -> None:
    assert config["User"] == "1000:1000"
    assert config["Volumes"] == {"/data": {}}
    assert config["ExposedPorts"] == {f"{port}/tcp": {} for port in (9092, 9093, 9094, 9099)}
    assert config["StopSignal"] == "SIGTERM"
    assert config["Entrypoint"] == ["/usr/bin/broker-lite", "container"]
    assert config["Cmd"] is None


def test_the_health_check_is_dear_only_while_the_broker_starts(config: dict[str, Any]) -> None:
    """The engine takes 0.15 s of CPU for each one."""
    health = config["Healthcheck"]
    assert health["Test"][0] == "CMD", "there is no shell between"
    assert health["StartInterval"] <= 1e9
    assert health["StartPeriod"] >= 60e9, "a volume or a seed file may be large"
    assert health["Interval"] >= 10e9


def test_labels(config: dict[str, Any]) -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    labels = config["Labels"]
    assert labels["org.opencontainers.image.title"] == project["name"]
    assert labels["org.opencontainers.image.licenses"] == project["license"]
    assert labels["org.opencontainers.image.version"] == __version__


def test_the_scan_is_compiled(in_image: InImage) -> None:
    text = in_image("broker-lite", "--version")
    assert text == f"broker-lite {__version__} (scan: native, request path: native)"


@pytest.mark.parametrize("tool", TOOLS.split())
def test_tools(tool: str, tools: dict[str, str]) -> None:
    assert tool in tools


@pytest.fixture(scope="module")
def tools(in_image: InImage) -> dict[str, str]:
    """Where the shell finds each tool."""
    script = f"for tool in {TOOLS}; do echo $tool $(type -P $tool); done"
    lines = in_image("bash", "-c", script).splitlines()
    return {words[0]: words[1] for line in lines if len(words := line.split()) == 2}


def test_scripts_of_kafka(in_image: InImage) -> None:
    scripts = script_names()
    assert "kafka-topics.sh" in scripts
    of_apache = in_image("ls", "/opt/kafka/bin").split()
    assert sorted(of_apache) == sorted(name for name in scripts if name.endswith(".sh"))
    of_confluent = set(in_image("ls", "/usr/bin").split())
    assert of_confluent >= {name for name in scripts if not name.endswith(".sh")}


def test_every_script_answers(in_image: InImage) -> None:
    """Each tells its flags, or says in one line what to use instead."""
    loop = (
        "for script in /opt/kafka/bin/*.sh; do"
        "  case $script in *kafka-run-class.sh | *kafka-server-*.sh) continue;; esac;"
        "  said=$($script --help 2>&1); echo $? $(basename $script) ${said%%:*}; "
        "done"
    )
    for line in in_image("bash", "-c", loop).splitlines():
        code, _script, *said = line.split()
        if code == "0":
            assert said == ["usage"], line
        else:
            assert (code, said) == ("1", ["broker-lite"]), line


def test_no_file_lends_its_rights(in_image: InImage) -> None:
    found = in_image("find", "/", "-xdev", "-type", "f", "-perm", "/6000", user="0:0")
    assert found == ""


def test_no_link_leads_nowhere(in_image: InImage) -> None:
    script = "find / -xdev -type l ! -exec test -e {} \\; -print"
    assert in_image("sh", "-c", script, user="0:0") == ""


def test_nothing_of_the_build_is_left(in_image: InImage) -> None:
    names = ("pip", "setuptools", "Cython", "tests", "*.pyx", "*.c", "pip.conf", "*.crt")
    wanted = [word for name in names for word in ("-o", "-name", name)][1:]
    found = in_image("find", "/", "-xdev", "(", *wanted, ")", user="0:0")
    assert found == ""


def test_every_package_has_its_copyright(in_image: InImage) -> None:
    packages = in_image("ls", "/var/lib/dpkg/status.d").split()
    assert {"bash", "busybox", "libc6"} < set(packages)
    documented = in_image("ls", "/usr/share/doc").split()
    assert set(packages) == set(documented)
