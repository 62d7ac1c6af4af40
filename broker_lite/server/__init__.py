"""The only room that touches sockets.

It gets addresses to listen on and a table of handlers. It receives requests, has the requests of
each connection handled one by one, and sends the answers: bytes, and ranges of files by
os.sendfile. It never looks into the body of a request or a response.
"""
