"""The decisions of the image's entry point.

It takes the arguments of `docker run`, the environment and the mounted files. It returns a broker's
flags and the sources of its settings, or another command or program. It opens no socket and imports
nothing of the server.
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
