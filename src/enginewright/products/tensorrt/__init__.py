"""The builder that TensorRT for RTX and TensorRT share."""
