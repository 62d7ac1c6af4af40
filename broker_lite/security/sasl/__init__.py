"""Authentication by SASL without I/O: messages of a client come in, answers and its name go out.

A mechanism is one object for one authentication; `exchange` gives it the client's messages in
Kafka's frames. `jaas` reads the users of a listener. Time comes in as milliseconds, nonces from a
function.

Not done: GSSAPI.
"""
