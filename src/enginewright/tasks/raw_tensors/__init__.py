"""A graph of whatever kind: named arrays in, named arrays out."""
