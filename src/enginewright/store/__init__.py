"""The store of Pants on this host."""
