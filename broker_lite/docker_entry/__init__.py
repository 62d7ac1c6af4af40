"""What the image's entry point does with what it was given.

In: the arguments of `docker run`, the environment, the mounted files. Out: either a broker's flags
and the sources of its settings, or a command or program in the broker's place. It opens no socket
and knows nothing of the server.
"""

from broker_lite.docker_entry.entry import Broker, Command, Entry, Program, read_entry
from broker_lite.docker_entry.init import run_as_init
from broker_lite.docker_entry.sources import Sources, read_sources

__all__ = [
    "Broker",
    "Command",
    "Entry",
    "Program",
    "Sources",
    "read_entry",
    "read_sources",
    "run_as_init",
]
