"""Oracles for the Python machine that nobody here wrote: CPython's tests, generated programs."""
