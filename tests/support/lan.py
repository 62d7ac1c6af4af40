"""A small network of its own: machines that are network namespaces, joined by a bridge.

One is the gateway, as the host is for its containers: it owns the bridge and the first address. A
namespace lives as long as a process in it, so nothing is left behind, however a test ends.
"""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from tests.support.toolchain import lacking, require

GATEWAY = 1
_IPV4 = "192.0.2."
_IPV6 = "2001:db8::"


class Machine:
    """A network namespace with two addresses, held open by a process that waits for its input."""

    def __init__(self, number: int) -> None:
        self.ipv4 = f"{_IPV4}{number}"
        self.ipv6 = f"{_IPV6}{number}"
        self._holder = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", "echo; read _"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._holder.stdout is not None
        self._holder.stdout.readline()  # it is in its namespace now

    @property
    def pid(self) -> int:
        """A process in the namespace."""
        return self._holder.pid

    def command(self, *words: str) -> Sequence[str]:
        """The command line that runs a command on this machine."""
        return ("nsenter", f"--net=/proc/{self.pid}/ns/net", *words)

    def run(self, *words: str) -> str:
        """Run a command on this machine and give what it printed."""
        return subprocess.run(
            self.command(*words), check=True, stdout=subprocess.PIPE, text=True
        ).stdout

    def ip(self, text: str) -> None:
        """Run iproute2's command."""
        self.run("ip", *text.split())

    def take_addresses(self, device: str) -> None:
        """Give a device this machine's addresses, and start it."""
        self.ip("link set lo up")
        self.ip(f"address add {self.ipv4}/24 dev {device}")
        self.ip(f"address add {self.ipv6}/64 dev {device} nodad")
        self.ip(f"link set {device} up")

    def close(self) -> None:
        """Leave the namespace to its end."""
        self._holder.communicate(b"\n")


@contextmanager
def lan(count: int) -> Iterator[list[Machine]]:
    """Machines on one network; the first is the default gateway of the others."""
    require("ip", "nsenter", "unshare", "sh")
    if os.geteuid() != 0:
        lacking("permission to make network namespaces")
    with ExitStack() as stack:
        machines = [Machine(GATEWAY + index) for index in range(count)]
        for machine in machines:
            stack.callback(machine.close)
        gateway, *others = machines
        gateway.ip("link add lan type bridge")
        gateway.take_addresses("lan")
        for index, machine in enumerate(others):
            gateway.ip(f"link add port{index} type veth peer name eth0 netns {machine.pid}")
            gateway.ip(f"link set port{index} master lan up")
            machine.take_addresses("eth0")
            machine.ip(f"route add default via {gateway.ipv4}")
            machine.ip(f"-6 route add default via {gateway.ipv6}")
        yield machines
