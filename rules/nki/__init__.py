"""Rules of NKI kernels: one module per family of instructions."""
