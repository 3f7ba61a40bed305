"""Operands that stream element by element: equal shapes, broadcasts."""
