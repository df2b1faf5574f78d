"""`enginewright pin`."""
