"""What an engine package is, whatever product built it."""
