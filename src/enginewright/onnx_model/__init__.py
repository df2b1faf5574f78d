"""An ONNX model in files: its graph, its tensors and where they lie."""
