"""Oracles: sources of truth from outside the project that its answers are compared with."""
