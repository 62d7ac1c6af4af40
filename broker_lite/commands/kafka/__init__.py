"""Kafka's other scripts: one module each, and a table that finds them by the script's name.

A module has `add_arguments(parser)` and `run(options)`, and prints what Kafka's tool prints.
"""
