"""Export by writing the graph of a known family, without weights in memory."""
