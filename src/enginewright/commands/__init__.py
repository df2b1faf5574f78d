"""One file a subcommand of `enginewright`."""
