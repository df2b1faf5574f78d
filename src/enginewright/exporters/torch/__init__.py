"""Export by tracing with torch."""
