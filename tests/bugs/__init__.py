"""Faults that real kernels had in public, as kernels of our own and in the originals."""
