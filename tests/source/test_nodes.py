"""Walks over trees go where those of :mod:`ast` go, in the same order."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from verifier.source import ir, nodes
from verifier.source.lowering import lower

FILES = ["argparse.py", "dataclasses.py", "typing.py", "ast.py", "inspect.py"]


@pytest.mark.parametrize("file", FILES)
def test_walks(file: str) -> None:
    text = (Path(ast.__file__).parent / file).read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert nodes.walk(tree) == list(ast.walk(tree))
    for node in ast.walk(tree):
        assert nodes.below(node) == list(ast.iter_child_nodes(node))


def test_statements_of_all_kinds() -> None:
    text = (
        """
async def f[T](a, /, *b, c: int = 1, **d) -> None:
    async with a as b, c:
        return await d
match x:
    case {"a": 1, **rest} if rest: pass
    case A(1, b=2) | [*_]: pass
x: int = (yield)
print(f"{x!r:>{y}}", *a, **b)
type A = int
"""
        if hasattr(ast, "TypeAlias")
        else "async def f(a, /, *b, c: int = 1, **d): return await a\n"
    )
    tree = ast.parse(text)
    assert nodes.walk(tree) == list(ast.walk(tree))


@pytest.mark.parametrize("file", FILES)
def test_statements(file: str) -> None:
    tree = ast.parse((Path(ast.__file__).parent / file).read_text(encoding="utf-8"))
    cases = (
        "match x:\n    case 1: g = lambda: 0\n    case 2:\n        try: f()\n        except E: pass"
    )
    for each in (tree, ast.parse(cases), ast.parse("import a").body[0]):
        whole = (ast.mod, ast.stmt, ast.excepthandler, ast.match_case)
        assert nodes.statements(each) == [n for n in ast.walk(each) if isinstance(n, whole)]


@pytest.mark.parametrize("file", FILES)
def test_children_are_all_nodes_that_fields_hold(file: str) -> None:
    text = (Path(ast.__file__).parent / file).read_text(encoding="utf-8")
    stack: list[ir.Node] = [*lower(file, text, 1)]
    while stack:
        node = stack.pop()
        held: list[ir.Node] = []
        for name in type(node).__struct_fields__:
            value = getattr(node, "body" if name == "block" else name)
            items = value if isinstance(value, tuple) else (value,)
            held += [item for item in items if isinstance(item, ir.Node)]
        assert [id(child) for child in ir.children(node)] == [id(item) for item in held]
        stack += held
