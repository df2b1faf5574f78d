"""The enginewright library: what the steps of an engine build do, free of Pants."""
