"""One folder a product that engines are built for."""
