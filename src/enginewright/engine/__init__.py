"""Build TensorRT engines ahead of time, and describe, check and compare what was built."""
