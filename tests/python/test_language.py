"""The tables that Python is put together from: each name is entered once."""

from __future__ import annotations

from collections import Counter

import pytest

from verifier.source import ir
from verifier.symbolic.python import language
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.model import Builtin


@pytest.mark.parametrize("table", ["KINDS", "BUILTINS", "CONSTRUCTORS"])
def test_no_name_is_entered_twice(table: str) -> None:
    entered = Counter(key for key, _ in language.entries(table))
    assert entered
    assert [key for key, times in entered.items() if times > 1] == []


@pytest.mark.parametrize("table", ["MODULES", "METHODS"])
def test_no_name_of_an_owner_is_entered_twice(table: str) -> None:
    entered = Counter((owner, name) for owner, name, _ in language.nested(table))
    assert entered
    assert [key for key, times in entered.items() if times > 1] == []


def test_every_method_is_a_model() -> None:
    assert all(isinstance(value, Builtin) for _, _, value in language.nested("METHODS"))
    assert all(isinstance(value, Builtin) for _, value in language.entries("CONSTRUCTORS"))
    assert isinstance(Table("list"), dict)


def _kinds_of(base: type) -> set[object]:
    """The classes of nodes of one sort."""
    return {
        cls
        for cls in vars(ir).values()
        if isinstance(cls, type) and issubclass(cls, base) and cls is not base
    }


def test_every_statement_and_expression_has_a_meaning() -> None:
    assert _kinds_of(ir.Stmt) == set(language.PYTHON.statements)
    assert _kinds_of(ir.Expr) == set(language.PYTHON.expressions)
