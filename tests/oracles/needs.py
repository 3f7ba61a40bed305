"""What a piece of a test file needs from the rest of it, copied in the order of the text."""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Iterable

from tests.oracles.suite import Suite, TestFile, UnusableError

# fmt: off
#: the standard library that a kernel's author may well use at trace time
_LIBRARY = frozenset({
    "abc", "bisect", "builtins", "collections", "collections.abc", "contextlib", "copy",
    "dataclasses", "decimal", "enum", "fractions", "functools", "heapq", "itertools", "keyword",
    "math", "numbers", "operator", "re", "reprlib", "statistics", "string", "textwrap", "types",
    "typing", "__future__",
})
_SYS = frozenset({
    "maxsize", "maxunicode", "float_info", "int_info", "hash_info", "version_info", "byteorder",
})
_REFUSED = frozenset({
    "exec", "eval", "compile", "open", "input", "globals", "locals", "vars", "dir", "__import__",
    "breakpoint", "exit", "quit", "__file__", "__spec__", "__loader__", "__builtins__",
    "copyright", "credits", "license", "help",
})
# fmt: on
_KNOWN = frozenset(dir(builtins)) | {"__name__", "__debug__"}
_OWN = frozenset({"nki", "nisa", "nl", "kernel"})


def free_names(source: str) -> set[str]:
    """The names that a text takes from the module's scope, or from the builtins."""
    try:
        top = symtable.symtable(source, "<test>", "exec")
    except (SyntaxError, ValueError) as error:
        raise UnusableError("no symbols") from error
    found = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_referenced()}
    pending = list(top.get_children())
    while pending:
        table = pending.pop()
        found |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()}
        pending.extend(table.get_children())
    return found


def refuse(tree: ast.AST) -> None:
    """Raise :class:`UnusableError` at what no kernel should be asked to do."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Await, ast.AsyncFor, ast.AsyncWith, ast.AsyncFunctionDef)):
            raise UnusableError("a coroutine")
        if isinstance(node, ast.Import):
            for alias in node.names:
                _allowed(alias.name)
        elif isinstance(node, ast.ImportFrom):
            _allowed("." * node.level + (node.module or ""))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == "sys" and node.attr not in _SYS:
                raise UnusableError(f"sys.{node.attr}")
        elif isinstance(node, ast.Name) and node.id in _OWN:
            raise UnusableError("a name that the kernels have themselves")


def _allowed(module: str) -> None:
    if module not in _LIBRARY and module != "sys":
        raise UnusableError(f"import of {module}")


class Needs:
    """The statements at module level that a kernel needs, over all files it takes them from."""

    def __init__(self, suite: Suite) -> None:
        self._suite = suite
        self._chosen: dict[str, dict[int, dict[str, None]]] = {}
        self._files: dict[str, TestFile] = {}
        self._origin: dict[str, str] = {}

    def add(self, file: TestFile, names: Iterable[str]) -> None:
        """Take the statements that bind the names, and what these need in turn."""
        pending = [(file, name) for name in sorted(names)]
        while pending:
            source, name = pending.pop()
            imported = source.imports.get(name)
            sibling = self._suite.sibling(imported.module) if imported is not None else None
            if imported is not None and sibling is not None and imported.attribute == name:
                pending.append((sibling, name))
                continue
            if name not in source.bindings:
                if name in _REFUSED or name not in _KNOWN:
                    raise UnusableError(f"the name {name}")
                continue
            if self._origin.setdefault(name, source.name) != source.name:
                if not self._same(name, source):
                    raise UnusableError("one name with two meanings")
                continue
            pending.extend(self._take(source, name))

    def _same(self, name: str, source: TestFile) -> bool:
        """Whether a name is bound in the same words in this file and where it is taken from."""
        other = self._files[self._origin[name]]
        mine, theirs = (
            [ast.unparse(_only(file.body[at], {name: None})) for at in file.bindings[name]]
            for file in (source, other)
        )
        return mine == theirs

    def _take(self, file: TestFile, name: str) -> list[tuple[TestFile, str]]:
        self._files[file.name] = file
        chosen = self._chosen.setdefault(file.name, {})
        found: list[tuple[TestFile, str]] = []
        for position in file.bindings[name]:
            names = chosen.setdefault(position, {})
            if name in names:
                continue
            names[name] = None
            found.extend((file, free) for free in _free_of(file, position, name))
        return found

    def text(self) -> str:
        """The statements, those of other files first."""
        parts: list[str] = []
        for name in reversed(self._chosen):
            file, chosen = self._files[name], self._chosen[name]
            parts.extend(ast.unparse(_only(file.body[at], chosen[at])) for at in sorted(chosen))
        return "\n".join(parts)


def _free_of(file: TestFile, position: int, name: str) -> list[str]:
    """The free names of a statement at module level; what no kernel may do is refused."""
    statement = file.body[position]
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        refuse(_only(statement, {name: None}))
        return []
    if position not in file.free:
        refuse(statement)
        file.free[position] = sorted(free_names(ast.unparse(statement)))
    return file.free[position]


def _only(statement: ast.stmt, names: dict[str, None]) -> ast.stmt:
    """An import of only these names, any other statement as it is."""
    if isinstance(statement, ast.Import):
        kept = [a for a in statement.names if (a.asname or a.name.split(".")[0]) in names]
        return ast.Import(names=kept)
    if isinstance(statement, ast.ImportFrom):
        kept = [a for a in statement.names if (a.asname or a.name) in names]
        return ast.ImportFrom(module=statement.module, names=kept, level=statement.level)
    return statement
