"""A task that no file of the library knows: the word vector of a row's first token."""
