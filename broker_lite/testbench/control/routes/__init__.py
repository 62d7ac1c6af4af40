"""The resources of the control API, by what they are about."""
