"""How many single-token mistakes in good kernels are caught."""
