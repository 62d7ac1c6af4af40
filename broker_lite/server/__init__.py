"""The only room that touches sockets.

In come addresses to listen on and a table of handlers; it receives requests, has them handled one
by one for each connection, and sends what comes back: bytes, and ranges of files by os.sendfile. It
never looks into a request's body or a response's.
"""
