"""Where schemas come from: a registry over HTTP, or a folder of files."""
