"""Operators of our own, and the subgraphs that they stand for."""
