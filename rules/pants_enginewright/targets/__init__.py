"""The BUILD vocabulary, by kind. Nothing here awaits; the help texts are the manual."""
