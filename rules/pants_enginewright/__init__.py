"""The Pants backend of enginewright: model engines as build targets."""
