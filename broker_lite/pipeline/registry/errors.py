"""What goes wrong with schemas and messages.

RegistryError
    RegistryDown     the registry does not answer, or answers with an error of its own
    UnknownSchema    the registry answers that it has no such schema
    UnusableSchema   there is a schema, but no column can be made by it
BadMessage           the bytes of one message

Each text is one line, as it stands in the error column or in the error of a query.
"""


class RegistryError(ValueError):
    """A schema cannot be had or used."""


class RegistryDown(RegistryError):
    """The registry did not answer, or with an error of its own; it may help to ask later."""


class UnknownSchema(RegistryError):
    """The registry has no such schema."""


class UnusableSchema(RegistryError):
    """The text is no schema, or one that columns cannot hold."""


class BadMessage(ValueError):
    """The bytes of a message are not what its schema says."""
