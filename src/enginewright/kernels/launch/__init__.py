"""Packaged kernels on a device."""
