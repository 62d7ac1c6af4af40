"""Produce: the request from its checks to its answer, one partition and very many."""
