"""Weight-only quantization."""
