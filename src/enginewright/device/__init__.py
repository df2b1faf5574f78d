"""What is measured on a GPU itself, and the kit that carries it to a host that has one."""
