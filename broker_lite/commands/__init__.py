"""The commands of the command line: one module each, or a folder.

A command module has `add_arguments(parser)` and `run(options)`, which prints and returns an exit
code. `broker_lite.cli` imports only the module of the command that the user typed.
"""
