"""Decides whether facts imply a predicate, and finds smallest counterexamples when they don't."""

from verifier.solver.query import Answer, Model, Query
from verifier.solver.solver import Solver, Statistics

__all__ = ["Answer", "Model", "Query", "Solver", "Statistics"]
