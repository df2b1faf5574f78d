"""TensorRT for RTX."""
