"""JAAS configurations: the users of a listener, as Kafka's settings and files write them.

A setting has one module and its options: `org.acme.Module required user_alice="secret";`. A file
has named sections of modules: `KafkaServer { ...; };`.

Source: JaasConfig, javax.security.auth.login.Configuration (the grammar of its files).
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(
    r"""\s+|//[^\n]*|\#[^\n]*|/\*.*?\*/|
    (?P<quoted>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?P<mark>[;={}])|(?P<word>[^\s;={}"']+)""",
    re.DOTALL | re.VERBOSE,
)
_FLAGS: Final = frozenset({"required", "requisite", "sufficient", "optional"})
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_CONTROL: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


class JaasError(ValueError):
    """A text is no JAAS configuration; the message never has any of the text, which has secrets."""


class LoginModule(NamedTuple):
    """One module and its options.

    `repr` leaves the options out, because they have passwords.
    """

    name: str
    options: Mapping[str, str]

    def __repr__(self) -> str:  # type: ignore[explicit-override]
        return f"LoginModule({self.name})"


def parse_module(text: str) -> LoginModule:
    """Parse the value of sasl.jaas.config, which has one module.

    Raises:
        JaasError: it has none, or more, or is not written as JAAS.
    """
    reader = _Reader(text)
    modules = []
    while not reader.is_at_end:
        modules.append(reader.module())
    if len(modules) != 1:
        raise JaasError(f"it has {len(modules)} login modules, and should have 1")
    return modules[0]


def parse_file(text: str) -> dict[str, list[LoginModule]]:
    """Parse a JAAS file: the modules of each section, by its name.

    Raises:
        JaasError: it is not written as JAAS.
    """
    reader = _Reader(text)
    sections: dict[str, list[LoginModule]] = {}
    while not reader.is_at_end:
        name = reader.word("the name of a section")
        reader.mark("{")
        modules = []
        while not reader.has("}"):
            modules.append(reader.module())
        reader.mark("}")
        reader.mark(";")
        sections[name] = modules
    return sections


class _Reader:
    """The tokens of a text: marks as they are, words and quoted texts with a blank before them."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = []
        position = 0
        while position < len(text):
            found = _TOKEN.match(text, position)
            if found is None:
                raise JaasError("a quoted text does not end")
            position = found.end()
            if found["quoted"] is not None:
                self._tokens.append(" " + _ESCAPE.sub(_unescape, found["quoted"][1:-1]))
            elif found["word"] is not None:
                self._tokens.append(" " + found["word"])
            elif found["mark"] is not None:
                self._tokens.append(found["mark"])
        self._tokens.reverse()

    @property
    def is_at_end(self) -> bool:
        return not self._tokens

    def has(self, mark: str) -> bool:
        return bool(self._tokens) and self._tokens[-1] == mark

    def mark(self, mark: str) -> None:
        if not self.has(mark):
            raise JaasError(f"a {mark} is missing")
        self._tokens.pop()

    def word(self, what: str) -> str:
        if not self._tokens or not self._tokens[-1].startswith(" "):
            raise JaasError(f"{what} is missing")
        return self._tokens.pop()[1:]

    def module(self) -> LoginModule:
        name = self.word("the class of a login module")
        if self.word("the flag of a login module").lower() not in _FLAGS:
            raise JaasError("the flag of a login module is not required, optional or the like")
        options: dict[str, str] = {}
        while not self.has(";"):
            key = self.word("the name of an option or a ;")
            self.mark("=")
            options[key] = self.word("the value of an option")
        self.mark(";")
        return LoginModule(name, options)


def _unescape(found: re.Match[str]) -> str:
    return _CONTROL.get(found[1], found[1])
