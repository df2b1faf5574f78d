"""Pins the files of a checkpoint that lie elsewhere: address, size and sha256 of each."""
