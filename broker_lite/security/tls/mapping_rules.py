"""The rules by which the subject of a certificate becomes the name of a principal."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

_DEFAULT: Final = "DEFAULT"
_RULES: Final = re.compile(
    r"\s*(?:(?P<default>DEFAULT)|"
    r"RULE:(?P<pattern>(?:\\.|[^\\/])*)/(?P<replacement>(?:\\.|[^\\/])*)/(?P<case>[LU]?))\s*(?:,|$)"
)
_GROUP: Final = re.compile(r"\$(\d)")


class NoRuleMatches(Exception):
    """No rule matches the subject of a client's certificate; the text is for a person."""


class _Rule(NamedTuple):
    """A rule; without a pattern it keeps the whole name."""

    pattern: re.Pattern[str] | None
    replacement: str = ""
    case: str = ""


class MappingRules:
    """Rules in their order; the first one whose pattern matches the whole name wins."""

    def __init__(self, text: str) -> None:
        """Parse the value of ssl.principal.mapping.rules.

        Raises:
            ValueError: a rule or its pattern is invalid.

        Rule: X-39 (SslPrincipalMapper).
        """
        self._rules: Sequence[_Rule] = _parse(text)

    def name_of(self, subject: str) -> str:
        """Return the name of the principal for a subject.

        Raises:
            NoRuleMatches: no rule is for it.
        """
        for pattern, replacement, case in self._rules:
            if pattern is None:
                return subject
            found = pattern.fullmatch(subject)
            if found is not None:
                name = _GROUP.sub(lambda group: found[int(group[1])] or "", replacement)  # noqa: B023
                return {"L": name.lower(), "U": name.upper()}.get(case, name)
        raise NoRuleMatches(f"no rule of ssl.principal.mapping.rules is for {subject}")


def _parse(text: str) -> list[_Rule]:
    rules, position = [], 0
    text = text.strip() or _DEFAULT
    while position < len(text):
        found = _RULES.match(text, position)
        if found is None:
            raise ValueError(f"Invalid rule: `{text[position:]}`")
        position = found.end()
        if found["default"]:
            rules.append(_Rule(None))
            continue
        try:
            pattern = re.compile(found["pattern"])
        except re.error as error:
            raise ValueError(f"Invalid rule: `{found[0]}`: {error}") from error
        replacement = found["replacement"]
        if any(int(group) > pattern.groups for group in _GROUP.findall(replacement)):
            raise ValueError(f"Invalid rule: `{found[0]}`: no such group")
        rules.append(_Rule(pattern, replacement, found["case"]))
    return rules
