"""Tests and scripts of a project, read for the inputs with which they launch its kernels."""
