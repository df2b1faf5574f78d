"""Small programs that run inside a sandbox, before the library: not imported by the plugin."""
