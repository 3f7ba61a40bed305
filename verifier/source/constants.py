"""Expressions that change nothing, cannot fail, and are worth the same whenever they are evaluated.

They are told by their text alone, which leaves out most; what is not told is evaluated in order.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

from verifier.source import apis, standard

#: built-in types that make something empty
_EMPTY: Final = frozenset({"bytearray", "dict", "frozenset", "list", "object", "set", "tuple"})
#: built-in types that take a type in brackets
_GENERIC: Final = frozenset({"dict", "frozenset", "list", "set", "tuple", "type"})
_OF_METHODS: Final = frozenset({"property", "staticmethod", "classmethod"})
#: how many types those names of ``typing`` take of which each takes a certain number
_TAKES: Final[Mapping[str, int]] = {
    **dict.fromkeys(
        ["List", "Set", "FrozenSet", "Type", "Deque", "Optional", "Sequence", "Iterable",
         "Iterator", "ClassVar", "Final"], 1
    ),
    **dict.fromkeys(["Dict", "DefaultDict", "Mapping", "MutableMapping", "OrderedDict"], 2),
}  # fmt: skip
_BUILTIN: Final = frozenset(dir(builtins))
#: libraries whose functions run modules
_IMPORTING: Final = ("importlib", "pkgutil", "runpy")
#: names that each module has
_OWN: Final = frozenset({"__name__", "__file__", "__doc__", "__package__", "__spec__"})


class QuietExpressions:
    """What is known of names at one place in a module, and which expressions are quiet there."""

    def __init__(
        self,
        foreign: Collection[str],
        modules: Mapping[str, str],
        origins: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        #: names that imports bind, and nothing else
        self.foreign = frozenset(foreign)
        #: those that are bound to a module, with its name
        self.modules = modules
        #: the libraries that imported names come from
        self.origins = origins
        #: names that are bound by now
        self.bound: set[str] = set()
        #: whether these are all: no ``import *`` yet
        self.complete = True
        #: names of numbers, of other things that nothing can change, and of definitions
        self.numbers: set[str] = set()
        self.fixed: set[str] = set()
        self.defined: set[str] = set()

    def __call__(self, node: ast.expr) -> bool:
        """Whether an expression is quiet."""
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Name):
            known = self.is_fixed(node) or node.id in self.defined or node.id in self.foreign
            return self._is_there(node.id) and (known or node.id not in self.bound)
        if isinstance(node, ast.JoinedStr):
            return all(isinstance(part, ast.Constant) for part in node.values)
        if isinstance(node, (ast.Tuple, ast.List)):
            return all(map(self, node.elts))
        if isinstance(node, ast.Set):
            return all(map(self._is_key, node.elts))
        if isinstance(node, ast.Dict):
            keys = all(key is not None and self._is_key(key) for key in node.keys)
            return keys and all(map(self, node.values))
        if isinstance(node, ast.Lambda):
            args = node.args
            return all(d is None or self(d) for d in (*args.defaults, *args.kw_defaults))
        if isinstance(node, ast.Attribute):
            return self._is_foreign(node)
        if isinstance(node, ast.Subscript):
            return self._is_generic(node) and self.as_annotation(node)
        if isinstance(node, ast.Call):
            return self._calls_quietly(node)
        return self.is_number(node)

    def is_number(self, node: ast.expr) -> bool:
        """Whether an expression is a number that can be told from others by its text."""
        if isinstance(node, ast.Constant):
            return type(node.value) is int
        if isinstance(node, ast.Name):
            return node.id in self.numbers
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, (ast.USub, ast.UAdd)) and self.is_number(node.operand)
        if not isinstance(node, ast.BinOp) or not self.is_number(node.left):
            return False
        if isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
            return self.is_number(node.right)
        divisor = node.right.value if isinstance(node.right, ast.Constant) else 0
        return isinstance(node.op, (ast.FloorDiv, ast.Mod)) and type(divisor) is int and divisor > 0

    def is_fixed(self, node: ast.expr) -> bool:
        """Whether a quiet expression is worth something that nothing can change."""
        if isinstance(node, ast.Tuple):
            return all(map(self.is_fixed, node.elts))
        if isinstance(node, ast.Name):
            return node.id in self.fixed or node.id in self.numbers
        return isinstance(node, ast.Constant) or self.is_number(node)

    def as_decorator(self, node: ast.expr) -> bool:
        """Whether a decorator is one that neither calls nor keeps what it is given."""
        if isinstance(node, ast.Call):
            given = (*node.args, *(keyword.value for keyword in node.keywords))
            return self.as_decorator(node.func) and all(map(self, given))
        if isinstance(node, ast.Name) and node.id in _OF_METHODS:
            return node.id not in self.bound
        return self._is_foreign(node) and self._leaves(node)

    def _leaves(self, node: ast.expr) -> bool:
        """Whether a decorator is of the standard library, or of one that kernels are made with."""
        origin = self.origins.get(_root(node), "")
        return origin in apis.libraries() or standard.is_standard(origin)

    def as_annotation(self, node: ast.expr) -> bool:
        """Whether an expression is quiet as an annotation: nobody asks what it is worth."""
        if isinstance(node, ast.Name):
            return self._is_there(node.id)
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Attribute):
            return self._is_foreign(node)
        if isinstance(node, ast.Subscript):
            parts = (node.value, node.slice)
            return self._takes_types(node) and all(map(self.as_annotation, parts))
        if isinstance(node, (ast.Tuple, ast.List)):
            return all(map(self.as_annotation, node.elts))
        if isinstance(node, ast.BinOp):
            sides = (node.left, node.right)
            return self._are_alternatives(node) and all(map(self.as_annotation, sides))
        return self(node)

    def _takes_types(self, node: ast.Subscript) -> bool:
        """Whether brackets make a type of types, and not an error."""
        owner = node.value
        if isinstance(owner, ast.Name) and owner.id in _BUILTIN and owner.id not in self.bound:
            return owner.id in _GENERIC
        if not isinstance(owner, (ast.Name, ast.Attribute)):
            return False
        name = owner.id if isinstance(owner, ast.Name) else owner.attr
        args = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if _TAKES.get(name, len(args)) != len(args):
            return False
        numbers = any(isinstance(a, ast.Constant) and type(a.value) is int for a in args)
        return not numbers or name in ("Literal", "Annotated")

    def _are_alternatives(self, node: ast.BinOp) -> bool:
        """Whether ``left | right`` is not known to be none of types."""
        if not isinstance(node.op, ast.BitOr):
            return False
        sides = (node.left, node.right)
        constants = [side.value for side in sides if isinstance(side, ast.Constant)]
        if not constants:
            return not any(isinstance(side, ast.Name) and self.is_fixed(side) for side in sides)
        return constants == [None]

    def _is_there(self, name: str) -> bool:
        return name in self.bound or name in _BUILTIN or name in _OWN or not self.complete

    def _is_foreign(self, part: ast.expr) -> bool:
        """Whether an expression is a name of a library, and not known to be missing there."""
        node, name = part, ""
        while isinstance(node, ast.Attribute):
            name = node.attr
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.foreign:
            return False
        if node.id not in self.bound:
            return False
        module = self.modules.get(node.id)
        return not name or module is None or standard.has(module, name) is not False

    def _is_generic(self, node: ast.Subscript) -> bool:
        """``list[int]``, ``Optional[int]``: a type of a type."""
        owner = node.value
        if isinstance(owner, ast.Name) and owner.id in _GENERIC:
            return owner.id not in self.bound
        return self._is_foreign(owner)

    def _is_key(self, node: ast.expr) -> bool:
        """Whether an expression is quiet and its value can be a key."""
        if isinstance(node, ast.Tuple):
            return all(map(self._is_key, node.elts))
        return self._is_foreign(node) or self.is_number(node) or self.is_fixed(node)

    def _calls_quietly(self, node: ast.Call) -> bool:
        given = (*node.args, *(keyword.value for keyword in node.keywords))
        if isinstance(node.func, ast.Name) and node.func.id in _EMPTY:
            if node.func.id in self.bound or node.args:
                return False
            keywords = node.func.id == "dict" and all(k.arg is not None for k in node.keywords)
            return all(map(self, given)) and (keywords or not given)
        if self.origins.get(_root(node.func)) in _IMPORTING:
            return False
        # what is given to a library may be changed, or called
        return self._is_foreign(node.func) and all(map(self._is_inert, given))

    def _is_inert(self, node: ast.expr) -> bool:
        return self._is_key(node) or (isinstance(node, ast.Name) and node.id in _OWN)


def _root(node: ast.expr) -> str:
    """The name that a chain of attributes starts with; empty if there is none."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
