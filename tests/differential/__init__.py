"""Kernels drawn from the descriptions of instructions: what the check says against what runs do."""
