"""What runs with what: tables as data, each row with its source document, and lookups in them."""
