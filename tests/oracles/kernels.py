"""Kernels out of test methods: the tile's size says whether the assertion holds."""

from __future__ import annotations

import ast
import contextlib
import copy
from collections.abc import Iterator
from dataclasses import dataclass

from tests.oracles import rewrite
from tests.oracles.assertions import QUIET, RAISES, is_condition
from tests.oracles.needs import Needs, free_names, refuse
from tests.oracles.rewrite import CASE, RECORD, Rewriter
from tests.oracles.suite import Member, Suite, TestClass, TestFile, UnusableError

#: partitions of the tile: what the hardware has, and one more
GOOD, BAD = 128, 129

_HEAD = """\
import nki
import nki.isa as nisa
import nki.language as nl
"""
_KERNEL = """\
@nki.jit
def kernel(source_):
    assert source_.shape == (128, 8)
    assert source_.dtype == nl.float32
{body}
    tile_ = nl.ndarray(({good} if {condition} else {bad}, 8), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile_[0:128, 0:8], src=source_)
    out_ = nl.ndarray((128, 8), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out_, src=tile_[0:128, 0:8])
    return out_
"""
PROBE_LINE = "    tile_ = nl.ndarray("


@dataclass(frozen=True, slots=True)
class Kernel:
    """One assertion of one test as a kernel, and its twin that asserts the contrary."""

    file: str
    test: str
    number: int
    assertion: str
    probe: str
    twin: str

    @property
    def name(self) -> str:
        return f"{self.file}.{self.test}#{self.number}"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A test method without kernels, and why."""

    test: str
    why: str


def kernels(suite: Suite, file: TestFile, per_method: int) -> Iterator[Kernel | Skipped]:
    """The kernels of all test methods of a file, and the methods that give none."""
    seen: set[str] = set()
    for case in suite.classes(file):
        builder = _Builder(suite, case)
        for name, member in case.tests():
            test = f"{case.name}.{name}"
            try:
                for kernel in builder.kernels(test, member, per_method):
                    if kernel.probe not in seen:
                        seen.add(kernel.probe)
                        yield kernel
            except (UnusableError, ValueError, RecursionError, SyntaxError) as error:
                yield Skipped(test, str(error))


class _Builder:
    """Makes kernels of the methods of one class."""

    def __init__(self, suite: Suite, case: TestClass) -> None:
        self._suite = suite
        self._case = case
        self._asserting: dict[str, bool] = {}
        self._setup_fits: bool | None = None

    def kernels(self, test: str, member: Member, per_method: int) -> Iterator[Kernel]:
        """The kernels of a method, one for each of its first assertions."""
        method = member.statement
        assert isinstance(method, ast.FunctionDef)
        if len(method.args.args) != 1 or method.args.vararg or method.args.args[0].arg != "self":
            raise UnusableError("a method with arguments")
        count = Rewriter(-1, RECORD, self._asserts)
        count.top(copy.deepcopy(method.body))
        if not count.places:
            raise UnusableError("nothing asserted")
        for number in range(min(per_method, len(count.places))):
            probe, twin = self._texts(member, method, number)
            yield Kernel(self._case.file.name, test, number, count.places[number], probe, twin)

    def _texts(self, member: Member, method: ast.FunctionDef, number: int) -> tuple[str, str]:
        rewriter = Rewriter(number, RECORD, self._asserts)
        body = rewriter.top(copy.deepcopy(method.body))
        value = rewriter.direct
        if value is None:
            body = [*rewrite.statements(f"{RECORD} = []"), *body]
        condition = f"len({RECORD}) > 0 and all({RECORD})" if value is None else ast.unparse(value)
        needs = Needs(self._suite)
        helpers = self._case_class(rewriter, needs)
        if helpers:
            body = [*rewrite.statements(f"self = {CASE}()"), *self._setup(), *body]
        refuse(ast.parse(condition))
        refuse(ast.Module(body=body, type_ignores=[]))
        probe, twin = (
            _KERNEL.format(body=_indented(body), condition=f"({condition})", good=good, bad=bad)
            for good, bad in ((GOOD, BAD), (BAD, GOOD))
        )
        needs.add(member.file, free_names(probe) - {"nki", "nisa", "nl", CASE})
        future = "".join(f"from __future__ import {n}\n" for n in self._case.file.future())
        above = [part for part in (future + _HEAD, needs.text(), helpers) if part]
        return "\n\n".join([*above, probe]), "\n\n".join([*above, twin])

    def _setup(self) -> list[ast.stmt]:
        return rewrite.statements("self.setUp()") if self._has_setup() else []

    def _has_setup(self) -> bool:
        """Whether there is a preparation that can be copied; CPython says if it is missed."""
        if self._setup_fits is None:
            self._setup_fits = False
            if self._case.member("setUp") is not None:
                with contextlib.suppress(UnusableError):
                    self._class_with(["setUp"], set(), Needs(self._suite))
                    self._setup_fits = True
        return self._setup_fits

    # ------------------------------------------------------------------ helpers of the class

    def _asserts(self, name: str) -> bool:
        """Whether a method of the class asserts something, itself or through another one."""
        if name not in self._asserting:
            self._asserting[name] = False  # ends a recursion
            member = self._case.member(name)
            if member is not None and isinstance(member.statement, ast.FunctionDef):
                self._asserting[name] = any(
                    isinstance(node, ast.Attribute)
                    and isinstance(node.value, ast.Name)
                    and node.value.id == "self"
                    and (_is_assertion(node.attr) or self._asserts(node.attr))
                    for node in ast.walk(member.statement)
                )
        return self._asserting[name]

    def _case_class(self, rewriter: Rewriter, needs: Needs) -> str:
        """The class with what the method uses through ``self``; empty if it uses nothing."""
        pending = list(rewriter.attributes)
        stored = set(rewriter.stored)
        if self._has_setup():
            pending.append("setUp")
        pending.extend(self._existing(rewriter))
        used = pending or stored or rewriter.bare
        return self._class_with(pending, stored, needs) if used else ""

    def _existing(self, rewriter: Rewriter) -> list[str]:
        return [name for name in rewriter.optional if self._case.member(name) is not None]

    def _class_with(self, pending: list[str], stored: set[str], needs: Needs) -> str:
        found: dict[str, tuple[int, int, str]] = {}
        wanted: list[str] = []
        while pending:
            name = pending.pop()
            wanted.append(name)
            member = self._case.member(name)
            if member is None or name in found:
                continue
            text, used, written = self._member(name, member)
            stored |= written
            found[name] = (-member.depth, member.statement.lineno, text)
            free = free_names(text)
            own = {n for n in free if n not in member.file.bindings and self._case.member(n)}
            needs.add(member.file, free - own)
            pending.extend([*used, *sorted(own)])
        for name in wanted:
            if name not in found and name not in stored | {"__class__"}:
                raise UnusableError(f"self.{name}")
        body = [f"{RECORD} = []", *(text for _, _, text in sorted(found.values()))]
        inner = "\n".join(f"    {line}" for text in body for line in text.splitlines())
        return f"class {CASE}:\n{inner}\n"

    def _member(self, name: str, member: Member) -> tuple[str, list[str], set[str]]:
        """An attribute's text, the attributes it uses and those it stores."""
        statement = copy.deepcopy(member.statement)
        refuse(statement)
        if isinstance(statement, ast.FunctionDef):
            return self._method(statement)
        if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.ClassDef, ast.If)):
            return ast.unparse(statement), [], set()
        raise UnusableError(f"self.{name}")

    def _method(self, node: ast.FunctionDef) -> tuple[str, list[str], set[str]]:
        decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
        if any(decorator not in ("staticmethod", "property") for decorator in decorators):
            raise UnusableError("a helper with a decorator")
        static = "staticmethod" in decorators
        first = [*node.args.posonlyargs, *node.args.args][:1]
        if not static and (not first or first[0].arg != "self"):
            raise UnusableError("a helper without self")
        rewriter = Rewriter(None, f"self.{RECORD}", self._asserts)
        node.body = rewriter.helper(node.body)
        return ast.unparse(node), [*rewriter.attributes, *self._existing(rewriter)], rewriter.stored


def _is_assertion(name: str) -> bool:
    return is_condition(name) or name in RAISES or name in QUIET


def _indented(body: list[ast.stmt]) -> str:
    """Statements as the body of a function, with the lines of strings left as they are."""
    if not body:
        return "    pass"
    function = ast.parse("def f():\n    pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = body
    return ast.unparse(ast.fix_missing_locations(function)).partition("\n")[2]
