"""Creates the topics and records that a broker's settings ask for.

It reads files that the settings name, and writes to a cluster before the first client is served. An
error in a file is a SettingsError that names file, line and field.
"""

from broker_lite.seed.apply import apply

__all__ = ["apply"]
