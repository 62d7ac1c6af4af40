"""Handlers: what each request leads to and is answered.

The modules without a folder are the frame: the table of APIs, the way from a request to its handler
(dispatch), what each handler is given (context), and how large requests take turns (large, split).
"""
