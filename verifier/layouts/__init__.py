"""Where the elements of a tensor lie in a TPU's memory: addresses, strides, and pictures of them.

One definition of each layout, usable on plain integers and on symbolic ones.
"""
