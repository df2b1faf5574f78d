"""One folder a task: what a model is asked to do."""
