"""torch AOTInductor: a decoder compiled ahead of time, for a GPU that need not be here."""
