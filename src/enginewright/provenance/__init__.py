"""Where a package comes from: bill of materials, statements, signatures and policies."""
