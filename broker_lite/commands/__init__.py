"""The commands of the command line: a module each, in a folder where it has several.

What comes in is what a person typed, what goes out is what is printed and an exit code. A module
has `add_arguments(parser)` and `run(options)`; `broker_lite.cli` imports the one that is asked for.
"""
