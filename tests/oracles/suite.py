"""The regression tests of the installed CPython as syntax trees: files, classes, attributes.

Nothing of them is imported: what a test needs is found in the text, so that it can be copied.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: what the tests import all of
_STARRED = ("contextlib", "dataclasses", "functools", "itertools", "math", "operator", "typing")


class MissingSuiteError(Exception):
    """The interpreter has been installed without its tests."""


class UnusableError(Exception):
    """A test that does not become a kernel in a simple way; says why."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import binds: a module, or an attribute of one."""

    module: str
    attribute: str | None


@dataclass(slots=True)
class TestFile:
    """One file of the ``test`` package; ``bindings`` are the statements that concern a name."""

    __test__ = False

    name: str
    body: list[ast.stmt]
    bindings: dict[str, list[int]] = field(default_factory=dict)
    imports: dict[str, Imported] = field(default_factory=dict)
    #: free names of statements by their position, kept by who looks for them
    free: dict[int, list[str]] = field(default_factory=dict)

    def future(self) -> list[str]:
        """Names imported from ``__future__``, which change what the rest means."""
        return [
            alias.name
            for node in self.body
            if isinstance(node, ast.ImportFrom) and node.module == "__future__"
            for alias in node.names
        ]


@dataclass(frozen=True, slots=True)
class Member:
    """An attribute of a test class: the statement of a class body that gives it."""

    file: TestFile
    statement: ast.stmt
    depth: int


@dataclass(slots=True)
class TestClass:
    """A class with the classes that it inherits from, nearest first."""

    __test__ = False

    file: TestFile
    name: str
    order: list[tuple[TestFile, ast.ClassDef]]
    is_case: bool

    def member(self, name: str) -> Member | None:
        """What an attribute is, looked up along the order of resolution."""
        for depth, (file, node) in enumerate(self.order):
            for statement in reversed(node.body):
                if name in _bound(statement):
                    return Member(file, statement, depth)
        return None

    def tests(self) -> Iterator[tuple[str, Member]]:
        """The test methods, in the order of the text, the class's own first."""
        seen: set[str] = set()
        for depth, (file, node) in enumerate(self.order):
            for statement in node.body:
                for name in _bound(statement):
                    if name in seen:
                        continue
                    seen.add(name)
                    if name.startswith("test") and isinstance(statement, ast.FunctionDef):
                        yield name, Member(file, statement, depth)


def _target_names(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from _target_names(element)
    elif isinstance(target, (ast.Attribute, ast.Subscript, ast.Starred)):
        # what is changed counts as bound: `C.attribute = ...` belongs to `C`
        yield from _target_names(target.value)


def _bound(statement: ast.stmt) -> list[str]:
    """Names that a statement binds or changes in its own scope."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [statement.name]
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name.split(".")[0] for alias in statement.names]
    names: list[str] = []
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            names.extend(_target_names(target))
    elif isinstance(statement, (ast.AugAssign, ast.AnnAssign, ast.For)):
        names.extend(_target_names(statement.target))
    elif isinstance(statement, ast.With):
        for item in statement.items:
            names.extend(_target_names(item.optional_vars) if item.optional_vars else ())
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.stmt):
            names.extend(_bound(child))
        elif isinstance(child, ast.ExceptHandler):
            names.extend(name for inner in child.body for name in _bound(inner))
    return names


def _fresh_module(statement: ast.stmt) -> ast.stmt:
    """``m = import_fresh_module("heapq", ...)`` is a plain import for our purposes."""
    if (
        isinstance(statement, ast.Assign)
        and len(statement.targets) == 1
        and isinstance(statement.targets[0], ast.Name)
        and isinstance(statement.value, ast.Call)
        and ast.unparse(statement.value.func).endswith("import_fresh_module")
        and isinstance(statement.value.args[0], ast.Constant)
    ):
        module = str(statement.value.args[0].value)
        alias = ast.alias(name=module, asname=statement.targets[0].id)
        return ast.copy_location(ast.Import(names=[alias]), statement)
    return statement


def _explicit(statement: ast.stmt) -> ast.stmt:
    """``from dataclasses import *`` with the names that it brings."""
    if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
        if statement.module in _STARRED:
            module = importlib.import_module(statement.module)
            public = [name for name in dir(module) if not name.startswith("_")]
            names = sorted(getattr(module, "__all__", public))
            aliases = [ast.alias(name=name, asname=None) for name in names]
            return ast.ImportFrom(module=statement.module, names=aliases, level=0)
    return statement


class Suite:
    """The files of the ``test`` package, each read once."""

    def __init__(self) -> None:
        try:
            spec = importlib.util.find_spec("test.support")
        except ModuleNotFoundError:
            spec = None
        if spec is None or spec.origin is None:
            raise MissingSuiteError("this Python has been installed without its `test` package")
        self._folder = Path(spec.origin).parent.parent
        self._files: dict[str, TestFile | None] = {}

    def file(self, name: str) -> TestFile | None:
        """A file by its name without the ending; None if this version does not have it."""
        if name not in self._files:
            self._files[name] = self._read(name)
        return self._files[name]

    def _read(self, name: str) -> TestFile | None:
        for path in (self._folder / f"{name}.py", self._folder / name / "__init__.py"):
            if path.is_file():
                tree = ast.parse(path.read_text(encoding="utf-8"))
                return _indexed(TestFile(name, [_explicit(_fresh_module(n)) for n in tree.body]))
        return None

    def classes(self, file: TestFile) -> Iterator[TestClass]:
        """The test cases at the top level of a file."""
        for statement in file.body:
            if isinstance(statement, ast.ClassDef):
                found = self._class(file, statement)
                if found.is_case:
                    yield found

    def _class(self, file: TestFile, node: ast.ClassDef) -> TestClass:
        order: list[tuple[TestFile, ast.ClassDef]] = [(file, node)]
        is_case = False
        for base in node.bases:
            is_case |= ast.unparse(base) in ("unittest.TestCase", "TestCase")
            above = self._base(file, base)
            if above is not None and above[1] is not node:
                inherited = self._class(*above)
                order.extend(inherited.order)
                is_case |= inherited.is_case
        # of a class that is reached twice the last place counts, as it nearly always does
        last = {id(entry[1]): position for position, entry in enumerate(order)}
        kept = [entry for position, entry in enumerate(order) if last[id(entry[1])] == position]
        return TestClass(file, node.name, kept, is_case)

    def _base(self, file: TestFile, base: ast.expr) -> tuple[TestFile, ast.ClassDef] | None:
        if isinstance(base, ast.Name):
            imported = file.imports.get(base.id)
            if imported is None:
                return _class_named(file, base.id)
            if imported.attribute is not None:
                return self._elsewhere(imported.module, imported.attribute)
        if isinstance(base, ast.Attribute) and isinstance(base.value, ast.Name):
            imported = file.imports.get(base.value.id)
            if imported is not None and imported.module == "test" and imported.attribute:
                return self._elsewhere(f"test.{imported.attribute}", base.attr)
        return None

    def _elsewhere(self, module: str, name: str) -> tuple[TestFile, ast.ClassDef] | None:
        found = self.sibling(module)
        return None if found is None else _class_named(found, name)

    def sibling(self, module: str) -> TestFile | None:
        """Another file of the tests by its dotted name; the support package is not one."""
        package, _, name = module.partition(".")
        if package != "test" or not name or name.startswith("support"):
            return None
        return self.file(name.replace(".", "/"))


def _indexed(file: TestFile) -> TestFile:
    for position, statement in enumerate(file.body):
        for name in dict.fromkeys(_bound(statement)):
            file.bindings.setdefault(name, []).append(position)
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                bound = alias.asname or alias.name.split(".")[0]
                file.imports[bound] = Imported(alias.name, None)
        elif isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                file.imports[alias.asname or alias.name] = Imported(
                    "." * statement.level + (statement.module or ""), alias.name
                )
    return file


def _class_named(file: TestFile, name: str) -> tuple[TestFile, ast.ClassDef] | None:
    for position in reversed(file.bindings.get(name, ())):
        statement = file.body[position]
        if isinstance(statement, ast.ClassDef):
            return file, statement
    return None
