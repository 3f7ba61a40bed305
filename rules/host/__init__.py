"""Rules about Python that runs while the kernel is traced."""
