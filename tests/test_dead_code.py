"""Every name of the program is used in the program: what nothing asks for does not stay."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from tests.test_architecture import module_name, parsed, sources

#: names that are used by what is not here: by other libraries, by callers of this one
KEPT = {
    "rules.rows.frames.Row": "tests check and run the rows of the catalogue",
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


def test_what_is_defined_is_used() -> None:
    uses: Counter[str] = Counter()
    found: list[tuple[str, str, ast.stmt]] = []
    for path in sources():
        tree = parsed(path)
        for node in tree.body:
            if not (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"):
                uses.update(said(node))
        found += defined(tree.body, module_name(path))
    unused = {
        place
        for place, name, node in found
        if uses[name] <= Counter(said(node))[name]
        and not (name.startswith("__") and name.endswith("__"))
        and not name.startswith(("visit_", "leave_", "lsp_"))  # libcst and pygls look for these
        and not any(place == kept or place.startswith(f"{kept}.") for kept in KEPT)
    }
    assert unused == set()
