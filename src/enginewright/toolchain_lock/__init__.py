"""Resolve a short request into a toolchain file: full versions, hashes, minimum driver."""
