"""What a machine is: its GPUs, driver, libraries, container and limits, live or from a bundle."""
