"""The decisions of the image's entry point.

It takes the arguments of `docker run`, the environment and the mounted files. It returns a broker's
flags and the sources of its settings, or another command or program. It opens no socket and imports
nothing of the server.
"""
