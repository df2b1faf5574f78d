"""Sizes of weights, KV cache, activations and engine, from a config alone."""
