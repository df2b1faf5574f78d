"""CUDA sources to cubins, with nvcc out of wheels."""
