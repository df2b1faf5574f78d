"""Scores of classes, for a text, a pair of texts, or each token of a text."""
