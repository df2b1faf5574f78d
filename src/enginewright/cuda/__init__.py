"""The CUDA compiler from locked wheels, and what it makes."""
