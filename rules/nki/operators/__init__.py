"""Operators, engines, commands and features that instructions and targets have."""
