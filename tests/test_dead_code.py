"""Every name of the program is used in the program: what nothing asks for does not stay.

What tests define for themselves is used by tests.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tests.test_architecture import module_name, our_files, parsed, sources

#: names that are used by what is not here: by other libraries, by callers of this one
KEPT = {
    "rules.rows.frames.Row": "tests check and run the rows of the catalogue",
    "tests.commands.Command": "subprocess finds what it overrides by these names",
    "verifier.cli.main.LazyGroup": "click asks for commands by these names",
    "verifier.cli.output.STATUSES": "the table of verifier/cli/README.md",
    "verifier.engine.analysis.analyze_source": "for those who use this as a library",
    "verifier.executor.semantics.tpu.floats": "meanings ask for these by an instruction's name",
    "verifier.executor.shims.Finder": "the import system asks for modules by these names",
    "verifier.hardware.chips.Chip.bank_bytes": "a fact of the chip",
    "verifier.lsp.server._Protocol": "pygls finds what it overrides by these names",
    "verifier.lsp.server.TilelintServer": "pygls finds what it overrides by these names",
    "verifier.source.positions._CountingState": "libcst finds what it overrides by these names",
}
#: decorators that leave a function to be called by its name; others enter it in a table
PLAIN = {
    "cache",
    "cached_property",
    "classmethod",
    "contextmanager",
    "dataclass",
    "functools.cache",
    "functools.cached_property",
    "functools.lru_cache",
    "property",
    "staticmethod",
}


def said(node: ast.AST) -> Iterator[str]:
    """The names that a piece of the program asks for: also a word of a text may be one."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
            yield inner.id
        elif isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Load):
            yield inner.attr
        elif isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value
        elif isinstance(inner, ast.MatchClass):
            yield from inner.kwd_attrs


def defined(body: list[ast.stmt], within: str) -> Iterator[tuple[str, str, ast.stmt]]:
    """``(place, name, definition)`` of functions, classes, members and constants."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            decorators = {ast.unparse(d).partition("(")[0] for d in node.decorator_list}
            if decorators <= PLAIN:
                yield f"{within}.{node.name}", node.name, node
            if isinstance(node, ast.ClassDef):
                yield from defined(node.body, f"{within}.{node.name}")
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    yield f"{within}.{target.id}", target.id, node


def unused(where: Iterable[Path], users: Iterable[Path]) -> set[str]:
    """The places in ``where`` that define what none of the ``users`` asks for."""
    uses: Counter[str] = Counter()
    for path in users:
        uses.update(asked(path))
    found = [entry for path in where for entry in defined(parsed(path).body, module_name(path))]
    return {
        place
        for place, name, node in found
        if not (name.startswith("__") and name.endswith("__"))
        and not name.startswith(("visit_", "leave_", "lsp_"))  # libcst and pygls look for these
        and not any(place == kept or place.startswith(f"{kept}.") for kept in KEPT)
        and uses[name] <= Counter(said(node))[name]
    }


@cache
def asked(path: Path) -> Counter[str]:
    """How often a file asks for each name."""
    uses: Counter[str] = Counter()
    for node in parsed(path).body:
        if not (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"):
            uses.update(said(node))
    return uses


def test_what_is_defined_is_used() -> None:
    assert unused(sources(), sources()) == set()


def test_what_tests_define_is_used_in_tests() -> None:
    tests = sorted(set(our_files()) - set(sources()))
    found = unused(tests, our_files())
    assert {place for place in found if not looked_for(place.rpartition(".")[2])} == set()


def looked_for(name: str) -> bool:
    """Whether pytest or hypothesis finds it by its name."""
    return name.startswith(("test_", "pytest_", "Test", "pytestmark"))
