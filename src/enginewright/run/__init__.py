"""Runs a packaged engine: generates text, or embeds lines."""
