"""Build records of many commits: how sizes, times, accuracy and cache hits change."""
