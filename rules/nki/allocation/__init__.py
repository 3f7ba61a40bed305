"""Tiles as they are allocated: extent, rank, size, and placement."""
