"""The client's side of SASL without I/O: what a client sends, and what it thinks of the answers.

A mechanism is one object for one authentication. Nonces, tokens and times come in from outside.

Not done: GSSAPI.
"""
