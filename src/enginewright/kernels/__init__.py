"""Load packaged kernels by their descriptor and launch them through the CUDA driver."""
