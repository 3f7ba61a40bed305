"""Decides whether facts imply a predicate, and finds smallest counterexamples when they don't."""

from verifier.solver.query import Answer, Model, Query
from verifier.solver.solver import Solver, Statistics, cross_check

__all__ = ["Answer", "Model", "Query", "Solver", "Statistics", "cross_check"]
