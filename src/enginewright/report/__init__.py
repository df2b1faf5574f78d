"""A packaged engine as one HTML file for people."""
