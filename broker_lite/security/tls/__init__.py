"""TLS: contexts from key stores, and who a client is by its certificate. No sockets."""
