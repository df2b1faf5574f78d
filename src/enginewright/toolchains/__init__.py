"""Pins of an inference product."""
