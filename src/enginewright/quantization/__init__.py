"""Weight-only quantization of an ONNX model: int8 per channel, int4 in groups."""
