"""Oracles: what CPython does with generated programs, against what the check says of them."""
