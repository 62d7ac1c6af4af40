"""Produce: the request from its checks to its answer, for one partition or very many."""
