"""The files of a log directory, wherever it lies: opened, listed, searched."""
