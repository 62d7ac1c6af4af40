"""How a connection is protected by TLS, and how a client says who it is.

Properties are those of Kafka's Java clients (`security.protocol`, `ssl.*`, `sasl.*`). This folder
is imported only if they ask for TLS or SASL.

Not done: GSSAPI, callback handlers and engines of one's own.
"""
