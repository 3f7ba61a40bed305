"""Bodies that are lowered when they are asked for are what they are when all is lowered at once."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from verifier.source import bodies, ir
from verifier.source.bodies import Outlined
from verifier.source.lowering import _lowered, lower
from verifier.source.text import SourceError

_LIBRARY = Path(ast.__file__).parent
FILES = ["argparse.py", "contextlib.py", "dataclasses.py", "asyncio/tasks.py", "typing.py"]

ODD = '''
@one(
    lambda: 1
)
class Äß(Base, key=1):  # a remark
    """Text."""

    x = 1

    @property
    def long(self, a=(1,
                      2)) -> "ü":  # here
        # a remark that stands first

        """Said
        of it."""
        text = """
left of all
"""
        def inner(b=(yield)):
            return b
        return text, "ü" , inner ; pass  # ü

    async def waits(self):
        async with self as x:
            await x
            if x:
                return [y async for y in x]
            else:
                yield 1
                return

    def one_line(self): return 1

    class Inner:
        def deep(self):
            a = 1
            b = 2
            c = 3
            d = 4
            e = 5
            f = 6
            g = """
"""
'''


def _whole(text: str, line: int) -> tuple[ir.Stmt, ...]:
    return _lowered("file.py", text, line, Outlined(text, {}, {}))


@pytest.mark.parametrize("file", FILES)
def test_files(file: str) -> None:
    text = (_LIBRARY / file).read_text(encoding="utf-8")
    found = lower("file.py", text, 31)
    assert any(isinstance(node, ir.FunctionDef) and node.block.is_open for node in found)
    assert found == _whole(text, 31)


def test_odd_bodies() -> None:
    found = lower("file.py", ODD, 5)
    assert len(bodies.outlined(ODD, ast.parse(ODD).body).bodies) == 3
    assert found == _whole(ODD, 5)


def test_a_body_that_cannot_be_read_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = lower("file.py", "def f():\n" + "    x = 1\n" * 9, 11)
    assert isinstance(found, ir.FunctionDef)

    def refused(*given: object) -> None:
        raise SourceError("file.py", 12, 4, "not read")

    monkeypatch.setattr("verifier.source.lowering._parse", refused)
    (statement,) = found.body
    assert isinstance(statement, ir.UnsupportedStmt) and "not read" in statement.kind
