"""A test method without ``unittest``: one assertion becomes the probe, the others plain code."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import cast

from tests.oracles.assertions import QUIET, RAISES, condition, is_condition
from tests.oracles.suite import UnusableError

#: names that the kernels use themselves; no test has them
RESULT, RECORD, CASE = "ok_", "probe_", "Case_"

_Body = list[ast.stmt]


def statements(text: str) -> _Body:
    """The statements of a text."""
    return ast.parse(text).body


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign(targets=[ast.Name(name, ast.Store())], value=value, lineno=0)


class Rewriter(ast.NodeTransformer):
    """Rewrites the statements of one method; counts the places that can be the probe.

    ``target`` is the number of the one that is; None: all of them are recorded (in helpers), -1:
    none is. ``record`` is the text of the list that a place inside other statements writes to.
    """

    def __init__(self, target: int | None, record: str, asserting: Callable[[str], bool]) -> None:
        self.target = target
        self.record = record
        self.asserting = asserting
        self.places: list[str] = []
        self.attributes: dict[str, None] = {}
        self.optional: dict[str, None] = {}
        self.stored: set[str] = set()
        #: what a probe at the top level says; the statements up to it are then all there is
        self.direct: ast.expr | None = None
        self.recorded = False
        #: whether ``self`` is used as a value
        self.bare = False
        self.in_definition = False
        self._aliases: dict[str, str] = {}
        self._caught: set[str] = set()
        self._depth = self._definitions = self._classes = self._shadowed = 0

    # ------------------------------------------------------------------ statements

    def top(self, body: Sequence[ast.stmt]) -> _Body:
        """The statements of a method's body, up to a probe at this level."""
        out: _Body = []
        for statement in body:
            if isinstance(statement, ast.With) and self._is_subtest(statement):
                out.extend(self.top(statement.body))
            else:
                out.extend(self._one(statement))
            if self.direct is not None or (self.recorded and not self.in_definition):
                break
        return out

    def helper(self, body: Sequence[ast.stmt]) -> _Body:
        """The statements of a method that tests call; all of them stay."""
        return self._many(body)

    def _one(self, statement: ast.stmt) -> _Body:
        found = self.visit(statement)
        if found is None:
            return []
        return found if isinstance(found, list) else [found]

    def _many(self, body: Sequence[ast.stmt]) -> _Body:
        self._depth += 1
        out = self._flat(body)
        self._depth -= 1
        return out or [ast.Pass()]

    def _flat(self, body: Sequence[ast.stmt]) -> _Body:
        return [new for statement in body for new in self._one(statement)]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            return super().generic_visit(node)
        self._depth += 1
        found = super().generic_visit(node)
        self._depth -= 1
        if getattr(found, "body", None) == []:
            found.body = [ast.Pass()]  # type: ignore[attr-defined]
        return found

    def visit_Expr(self, node: ast.Expr) -> ast.AST | _Body | None:
        if isinstance(node.value, ast.Constant):
            return None
        if isinstance(node.value, ast.Call) and not self._shadowed:
            call = node.value
            name = self._asserted(call)
            if name is not None:
                return self._assertion(name, call)
            if self._is_super(call.func) and not self._classes:
                return []  # the inherited test has probes of its own where it is not overridden
            helper = self._attribute(call.func)
            if helper is not None and self.asserting(helper):
                return self._helper(cast(ast.Expr, self.generic_visit(node)))
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        name = None if self._shadowed else self._attribute(node.value)
        if name is not None and (is_condition(name) or name in RAISES):
            if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                self._aliases[node.targets[0].id] = name
                return None
        return self.generic_visit(node)

    def visit_With(self, node: ast.With) -> ast.AST | _Body:
        if self._shadowed:
            return self.generic_visit(node)
        first, rest = node.items[0], node.items[1:]
        call = first.context_expr
        body: _Body = node.body
        if rest:
            body = [ast.With(items=rest, body=node.body, lineno=0)]
        if isinstance(call, ast.Call):
            name = self._asserted(call) or self._attribute(call.func)
            if name == "subTest" or name in QUIET:
                if first.optional_vars is not None:
                    raise UnusableError("a context whose value is used")
                inside = self.top(body) if self._depth == 0 else self._flat(body)
                return inside or [ast.Pass()]
            if name in RAISES:
                return self._raises_block(call, first.optional_vars, body)
        return self.generic_visit(node)

    def visit_Yield(self, node: ast.Yield) -> ast.AST:
        return self._yielding(node)

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.AST:
        return self._yielding(node)

    def _yielding(self, node: ast.AST) -> ast.AST:
        if not self._definitions:
            raise UnusableError("a test that is a generator")
        return self.generic_visit(node)

    # ------------------------------------------------------------------ assertions

    def _assertion(self, name: str, call: ast.Call) -> _Body:
        if name in RAISES:
            return self._raises_call(name, call)
        if name in QUIET:
            return [ast.Expr(self._called(call, QUIET[name]))] if len(call.args) > 1 else []
        if name in ("fail", "skipTest"):
            if name == "skipTest":
                raise UnusableError("a test that may be skipped")
            return statements("raise AssertionError")
        if not is_condition(name):
            raise UnusableError(f"self.{name}")
        said = ast.unparse(call)
        call.args = [self.visit(argument) for argument in call.args]
        call.keywords = [self.visit(keyword) for keyword in call.keywords]
        return self._place(said, [], condition(name, call))

    def _called(self, call: ast.Call, skipped: int) -> ast.Call:
        arguments = [self.visit(argument) for argument in call.args[skipped + 1 :]]
        if any(isinstance(argument, ast.Starred) for argument in call.args[: skipped + 1]):
            raise UnusableError("an assertion with starred arguments")
        keywords = [self.visit(keyword) for keyword in call.keywords]
        return ast.Call(self.visit(call.args[skipped]), arguments, keywords)

    def _raises_call(self, name: str, call: ast.Call) -> _Body:
        skipped = RAISES[name]
        if len(call.args) <= skipped:
            raise UnusableError("assertRaises as a value")
        expected = self.visit(call.args[0])
        body: _Body = [ast.Expr(self._called(call, skipped))]
        return self._raising(ast.unparse(call), expected, None, body)

    def _raises_block(self, call: ast.Call, name: ast.expr | None, body: _Body) -> _Body:
        if not call.args or (name is not None and not isinstance(name, ast.Name)):
            raise UnusableError("assertRaises in another form")
        expected = self.visit(call.args[0])
        said = f"with {ast.unparse(call)}: {'; '.join(map(ast.unparse, body))}"
        caught = name.id if isinstance(name, ast.Name) else None
        if caught is not None:
            self._caught.add(caught)
        return self._raising(said, expected, caught, self._many(body))

    def _raising(self, said: str, expected: ast.expr, caught: str | None, body: _Body) -> _Body:
        probed = self._is_target()
        handler: _Body = []
        if probed:
            body = [_assign(RESULT, ast.Constant(False)), *body]
            handler.append(_assign(RESULT, ast.Constant(True)))
        if caught is not None:
            handler.append(_assign(f"{caught}_exception", ast.Name("caught_", ast.Load())))
        bound = "caught_" if caught is not None else None
        attempt = ast.Try(
            body=body,
            handlers=[ast.ExceptHandler(type=expected, name=bound, body=handler or [ast.Pass()])],
            orelse=[],
            finalbody=[],
        )
        return self._place(said, [attempt], ast.Name(RESULT, ast.Load()), effect=[attempt])

    def _helper(self, node: ast.Expr) -> _Body:
        said = ast.unparse(node)
        reset = statements(f"self.{RECORD} = []")
        value = ast.parse(f"len(self.{RECORD}) > 0 and all(self.{RECORD})", mode="eval").body
        return self._place(said, [*reset, node], value, effect=[node])

    # ------------------------------------------------------------------ the probe

    def _is_target(self) -> bool:
        return self.target is None or self.target == len(self.places)

    def _place(
        self, said: str, before: _Body, value: ast.expr, *, effect: _Body | None = None
    ) -> _Body:
        """A place that can be the probe: its statements, if it is, else the ``effect``."""
        probed = self._is_target()
        self.places.append(said)
        if not probed:
            return [ast.Expr(value)] if effect is None else effect
        if self._depth == 0 and self.target is not None:
            self.direct = value
            return before
        self.recorded = True
        self.in_definition |= self._definitions > 0
        note = ast.parse(f"{self.record}.append({ast.unparse(value)})").body
        return [*before, *note]

    # ------------------------------------------------------------------ names

    def _attribute(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return node.attr if node.value.id == "self" else None
        return None

    def _asserted(self, call: ast.Call) -> str | None:
        """The name of the assertion that is called, if it is one."""
        if isinstance(call.func, ast.Name):
            return self._aliases.get(call.func.id)
        name = self._attribute(call.func)
        known = name is not None and (is_condition(name) or name in RAISES or name in QUIET)
        return name if known or name in ("fail", "skipTest") else None

    def _is_subtest(self, node: ast.With) -> bool:
        return all(
            isinstance(item.context_expr, ast.Call)
            and self._attribute(item.context_expr.func) == "subTest"
            for item in node.items
        )

    def _is_super(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Attribute) and ast.unparse(node.value) == "super()"

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        base = node.value
        if isinstance(base, ast.Name) and base.id in self._caught and node.attr == "exception":
            return ast.Name(f"{base.id}_exception", ast.Load())
        if isinstance(base, ast.Attribute) and self._attribute(base) == "__class__":
            if not self._shadowed:
                self.attributes[node.attr] = None
            return node
        name = self._attribute(node)
        if name is None or self._shadowed:
            return super().generic_visit(node)
        if name == "failureException":
            return ast.Name("AssertionError", ast.Load())
        if not isinstance(node.ctx, ast.Load):
            self.stored.add(name)
        elif name != RECORD:
            self.attributes[name] = None
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """``getattr(self, "name")`` uses an attribute, too."""
        match node:
            case ast.Call(
                func=ast.Name("getattr" | "hasattr"),
                args=[ast.Name("self"), ast.Constant(str(name)), *_],
            ) if not self._shadowed:
                self.optional[name] = None
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self._caught:
            raise UnusableError("assertRaises whose context is used")
        if self._shadowed or self._classes:
            return node
        self.bare |= node.id == "self"
        if node.id in ("super", "__class__"):
            raise UnusableError("the base class of the test case")
        if node.id in self._aliases:
            raise UnusableError("an assertion as a value")
        return node

    # ------------------------------------------------------------------ scopes

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        raise UnusableError("a coroutine")

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self._function(node)

    def _function(self, node: ast.FunctionDef | ast.Lambda) -> ast.AST:
        arguments: ast.arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        shadows = any(argument.arg == "self" for argument in every)
        self._shadowed += shadows
        self._definitions += 1
        found = self.generic_visit(node)
        self._definitions -= 1
        self._shadowed -= shadows
        return found

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self._classes += 1
        self._definitions += 1
        found = self.generic_visit(node)
        self._definitions -= 1
        self._classes -= 1
        return found
