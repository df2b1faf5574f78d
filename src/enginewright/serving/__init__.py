"""Serves a packaged engine over HTTP, in the form of OpenAI's API."""
