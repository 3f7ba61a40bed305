"""Data movement by DMA: element counts, memories, types, descriptors, transposition."""
