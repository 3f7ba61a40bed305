"""Functions of Python and its standard library that have a model."""
