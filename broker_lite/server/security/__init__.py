"""TLS on sockets, and the log-in of clients, before their first request."""
