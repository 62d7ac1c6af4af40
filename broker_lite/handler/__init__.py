"""Handlers: each one carries out the requests of an API and answers them.

The modules directly in this folder are the frame: the table of APIs, the way from a request to its
handler (dispatch), what each handler is given (context), and how large requests take turns (large,
split).
"""
