"""How much of a language model fits on a GPU: weights, activations, KV cache, each term shown."""
