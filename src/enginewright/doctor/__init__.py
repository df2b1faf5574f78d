"""Will it run here, and if not, what exactly to change."""
