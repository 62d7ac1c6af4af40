"""The cluster as a whole: what may be asked of it, and every change that can be made to it."""
