"""What expressions of a host's code are worth, as far as the text alone says it.

Nothing is executed. A value is an int, a float, a bool, a string, ``None``, a tuple of values, an
:class:`Array` or an :class:`ElementType`; all else is :data:`UNREAD`, and so is whatever may be
bound twice or changed in place.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct, field

from verifier.source import apis
from verifier.source.meanings import FUNCTIONS, parameters

Value: TypeAlias = object


class Array(Struct, frozen=True):
    """A tensor of the host; ``dtype`` is the name of its element type, empty: not known."""

    shape: tuple[int, ...]
    dtype: str = ""


class ElementType(Struct, frozen=True):
    """An element type, by the name that it has in its library."""

    name: str


class _Unread:
    def __repr__(self) -> str:
        return "UNREAD"


UNREAD: Final = _Unread()

#: where tensors of the host come from, and the element type that they have if none is said
_DEFAULTS: Final[Mapping[str, str]] = {"numpy": "", "jax": "float32", "torch": "float32"}
#: where element types come from, besides the libraries of kernels
_TYPES: Final = frozenset({*_DEFAULTS, "ml_dtypes"})
_FILLED: Final = frozenset({"zeros", "ones", "empty", "ndarray"})
_SPREAD: Final = frozenset({"rand", "randn"})
#: position of the shape among the arguments
_DRAWN: Final[Mapping[str, int]] = {
    "numpy.random.random": 0,
    "numpy.random.random_sample": 0,
    "numpy.random.standard_normal": 0,
    "numpy.random.uniform": 2,
    "numpy.random.normal": 2,
    "numpy.random.randint": 2,
    "jax.random.normal": 1,
    "jax.random.uniform": 1,
}
#: what makes generators of random numbers, and what functions like their methods are called
_SOURCES: Final = frozenset({"numpy.random.default_rng", "numpy.random.RandomState"})
_DRAWS: Final[Mapping[str, str]] = {"integers": "randint"}
_LIKE: Final = frozenset({"zeros_like", "ones_like", "empty_like", "rand_like", "randn_like"})
_SAME: Final = frozenset({"array", "asarray", "ascontiguousarray", "from_numpy", "static_cast"})
_SHAPES: Final = ("shape", "size")
_PLAIN: Final = frozenset(
    {"shape", "size", "dtype", "device", "order", "requires_grad", "low", "high", "loc", "scale",
     "fill_value", "key", "pin_memory", "generator", "minval", "maxval"}
)  # fmt: skip
#: methods that leave the shape alone
_KEEPING: Final = frozenset(
    {"astype", "to", "cuda", "cpu", "contiguous", "copy", "clone", "detach", "numpy", "half",
     "float", "bfloat16", "block_until_ready"}
)  # fmt: skip
_CASTS: Final[Mapping[str, str]] = {"half": "float16", "float": "float32", "bfloat16": "bfloat16"}
#: what is given a list and only looks at it
_LOOKING: Final = frozenset({"len", "parametrize"})
_IN_PLACE: Final = frozenset({"resize", "append", "extend", "insert", "pop", "clear", "update"})
_OPERATORS: Final[Mapping[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
COMPARISONS: Final[Mapping[type[ast.cmpop], Callable[[int, int], bool]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
#: how deep expressions and names may lead, how long tuples and how large numbers get
_DEPTH: Final = 64
_LARGEST: Final = 1 << 64


# ------------------------------------------------------------------------------ what names are


class Bound(Struct, frozen=True):
    """What binds a name: an expression (``item``: one of its items), an import, or a function.

    ``names`` is where the expression stands, None: where the name does. ``owner`` are the names of
    the class that it is an instance of.
    """

    value: ast.expr | None = None
    item: int | None = None
    origin: str = ""
    function: ast.FunctionDef | ast.AsyncFunctionDef | None = None
    names: Names | None = None
    owner: Names | None = None


class Names(Struct, eq=False):
    """The names of a module or of a function, and ``outer``, where others are looked up."""

    outer: Names | None = None
    bindings: dict[str, list[Bound | None]] = field(default_factory=dict)
    #: what names are worth, once it was asked
    values: dict[str, Value] = field(default_factory=dict)
    #: of a module: its file; of a class: its name
    path: str = ""
    #: of a module: what its imports lead to in other files; None: they are not looked at
    imported: Callable[[str], tuple[Bound, Names] | None] | None = None
    #: of a module: names of lists that somebody else may have got hold of
    escaped: set[str] = field(default_factory=set)

    @property
    def module(self) -> Names:
        """The names of the module around."""
        names = self
        while names.outer is not None:
            names = names.outer
        return names

    def bind(self, name: str, bound: Bound | None = None) -> None:
        """Note a binding; None says nothing of its value."""
        self.bindings.setdefault(name, []).append(bound)

    def find(self, name: str) -> tuple[Bound, Names] | None:
        """What a name is, if that is certain, and where."""
        names: Names | None = self
        while names is not None and name not in names.bindings:
            names = names.outer
        if names is None:
            return None
        found = names.bindings[name]
        first = found[0]
        if first is None or any(other != first for other in found[1:]):
            return None
        # the same import twice, or one binding
        return (first, names) if len(found) == 1 or first.origin else None

    def again(self, row: Mapping[str, Bound]) -> Names:
        """The same names, some of them bound otherwise."""
        bindings = dict(self.bindings)
        bindings.update((name, [bound]) for name, bound in row.items())
        return Names(self.outer, bindings, {}, self.path, self.imported, self.escaped)

    def follow(self, node: ast.expr, depth: int = 0) -> tuple[Bound, Names] | None:
        """What a name or a dotted name is, in whichever file it is bound; imports of what is not
        on disk are themselves."""
        found = self.find(node.id) if isinstance(node, ast.Name) else None
        path = origin_of(node, self)
        imported = self.module.imported
        if path and imported is not None and not _is_library(path) and depth < _DEPTH:
            return imported(path)
        return found


def walk(nodes: Sequence[ast.AST], names: Names) -> Iterator[tuple[ast.AST, Names]]:
    """Every node of a module with the names of the place, which are complete when it ends."""
    stack: list[tuple[ast.AST, Names]] = [(node, names) for node in reversed(nodes)]
    #: of methods: the names of their classes
    owners: dict[int, Names] = {}
    while stack:
        node, inside = stack.pop()
        yield node, inside
        _bind(node, inside)
        below = inside
        if isinstance(node, (*FUNCTIONS, ast.Lambda)):
            below = Names(inside)
            for position, parameter in enumerate(parameters(node.args)):
                owner = owners.get(id(node)) if position == 0 else None
                below.bind(parameter, None if owner is None else Bound(owner=owner))
        elif isinstance(node, ast.ClassDef):
            # what a class binds is its own, and not seen by its methods
            own = Names(inside, path=node.name)
            inside.module.escaped.update(b.id for b in node.bases if isinstance(b, ast.Name))
            methods = {id(n) for n in node.body if isinstance(n, FUNCTIONS)}
            owners.update(dict.fromkeys(methods, own))
            stack.extend(
                (child, inside if id(child) in methods else own) for child in reversed(node.body)
            )
            continue
        stack.extend((child, below) for child in reversed(list(ast.iter_child_nodes(node))))


def _bind(node: ast.AST, names: Names) -> None:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            _assign(target, node.value, names)
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        _assign(node.target, node.value, names)
    elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        if not getattr(node, "assigned", False):
            names.bind(node.id)
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        _import(node, names)
    elif isinstance(node, FUNCTIONS):
        names.bind(node.name, Bound(function=node))
    elif isinstance(node, (ast.Global, ast.Nonlocal)):
        for declared in node.names:
            _spoil(declared, names)
    elif isinstance(node, (ast.Attribute, ast.Subscript)):
        _changed(node, names)
    elif isinstance(node, (ast.Name, ast.For, ast.comprehension, ast.Starred, ast.Call)):
        _used(node, names)
    elif not isinstance(node, ast.alias):
        name: object = getattr(node, "rest", None) or getattr(node, "name", None)
        if isinstance(name, str):
            names.bind(name)


def _used(
    node: ast.Name | ast.For | ast.comprehension | ast.Starred | ast.Call, names: Names
) -> None:
    """Note which lists may be known by other names from here on; what is around a name comes
    before it."""
    if isinstance(node, ast.Name):
        if not getattr(node, "kept", False):
            names.module.escaped.add(node.id)
    elif isinstance(node, (ast.For, ast.comprehension)):
        _keeps(node.iter)
    elif isinstance(node, ast.Starred):
        _keeps(node.value)
    elif getattr(node.func, "id", getattr(node.func, "attr", "")) in _LOOKING:
        for part in (*node.args, *(keyword.value for keyword in node.keywords)):
            _keeps(part)


def _keeps(node: ast.expr) -> None:
    """A list is only looked at here."""
    if isinstance(node, ast.Name):
        node.kept = True  # type: ignore[attr-defined]


def _import(node: ast.Import | ast.ImportFrom, names: Names) -> None:
    for alias in node.names:
        top = alias.name.partition(".")[0]
        origin = alias.name if alias.asname else top
        if isinstance(node, ast.ImportFrom):
            path = f"{node.module}.{alias.name}" if node.module else alias.name
            top, origin = alias.name, "." * node.level + path
        names.bind(alias.asname or top, Bound(origin=origin))


def _assign(target: ast.expr, value: ast.expr, names: Names) -> None:
    """Bind the names of a target whose values can be told; the others are bound as names."""
    if isinstance(target, ast.Name):
        names.bind(target.id, Bound(value))
        target.assigned = True  # type: ignore[attr-defined]
    elif isinstance(target, (ast.Tuple, ast.List)):
        if any(isinstance(part, ast.Starred) for part in target.elts):
            return
        for position, part in enumerate(target.elts):
            if isinstance(part, ast.Name):
                names.bind(part.id, Bound(value, position))
                part.assigned = True  # type: ignore[attr-defined]


def _changed(node: ast.Attribute | ast.Subscript, names: Names) -> None:
    """Spoil what is changed in place; elements of tensors may change."""
    if not isinstance(node.value, ast.Name):
        return
    if isinstance(node, ast.Subscript):
        if isinstance(node.ctx, ast.Load):
            _keeps(node.value)
    else:
        found = names.find(node.value.id)
        if found is not None and found[0].owner is not None and not isinstance(node.ctx, ast.Load):
            found[0].owner.bind(node.attr)
        method = node.attr in _IN_PLACE or (node.attr.endswith("_") and node.attr[0] != "_")
        if method or not isinstance(node.ctx, ast.Load):
            _spoil(node.value.id, names)


def _spoil(name: str, names: Names) -> None:
    inside: Names | None = names
    while inside is not None:
        inside.bind(name)
        inside = inside.outer


# ------------------------------------------------------------------------ what expressions are


def origin_of(node: ast.expr, names: Names) -> str:
    """The dotted path that a name leads to by imports alone, empty if it does not."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    found = names.find(node.id) if isinstance(node, ast.Name) else None
    if found is None or not found[0].origin:
        return ""
    return ".".join([found[0].origin, *reversed(attributes)])


def _is_library(path: str) -> bool:
    """Whether a dotted path is of a library that is never looked for on disk."""
    root = path.partition(".")[0]
    return root in _TYPES or root in apis.libraries()


def value_of(node: ast.expr, names: Names, depth: int = 0) -> Value:
    """What an expression is worth."""
    reader = _READERS.get(type(node))
    if reader is None or depth > _DEPTH:
        return UNREAD
    return reader(node, names, depth + 1)


def _constant(node: ast.Constant, names: Names, depth: int) -> Value:
    known = node.value is None or isinstance(node.value, (bool, int, float, str))
    return node.value if known else UNREAD


def _name(node: ast.Name, names: Names, depth: int) -> Value:
    found = names.follow(node, depth)
    if found is None or found[0].value is None:
        return UNREAD
    bound, there = found
    if there.module.path != names.module.path:
        known = isinstance(bound.value, ast.List)  # any file may change it
        return UNREAD if known else _value_bound(node.id, bound, there, depth)
    if node.id not in there.values:
        there.values[node.id] = _value_bound(node.id, bound, there, depth)
    return there.values[node.id]


def _value_bound(name: str, bound: Bound, there: Names, depth: int) -> Value:
    assert bound.value is not None
    if isinstance(bound.value, ast.List) and bound.item is None:
        if name in there.module.escaped or bound.names is not None:
            return UNREAD  # another name may change it
    value = value_of(bound.value, bound.names or there, depth)
    if bound.item is None:
        return value
    if isinstance(value, tuple) and bound.item < len(value):
        return value[bound.item]
    return UNREAD


def _tuple(node: ast.Tuple | ast.List, names: Names, depth: int) -> Value:
    values: list[Value] = []
    for part in node.elts:
        inner = part.value if isinstance(part, ast.Starred) else part
        value = value_of(inner, names, depth)
        if inner is part:
            values.append(value)
        elif isinstance(value, tuple):
            values.extend(value)
        else:
            return UNREAD
    return tuple(values)


def _attribute(node: ast.Attribute, names: Names, depth: int) -> Value:
    if isinstance(node.value, ast.Name):
        path = origin_of(node, names)
        if path and not _is_library(path):
            found = names.follow(node, depth)
            plain = found is not None and not isinstance(found[0].value, (ast.List, type(None)))
            return _value_bound(node.attr, *found, depth) if found and plain else UNREAD
        owner = names.find(node.value.id)
        if owner is not None and owner[0].owner is not None:
            own = owner[0].owner
            plain = node.attr in own.bindings and own.path not in names.module.escaped
            return value_of(ast.Name(node.attr), own, depth) if plain else UNREAD
    value = value_of(node.value, names, depth)
    if isinstance(value, Array):
        if node.attr == "shape":
            return value.shape
        if node.attr == "ndim":
            return len(value.shape)
        if node.attr == "T":
            return Array(value.shape[::-1], value.dtype)
        if node.attr == "dtype" and value.dtype:
            return ElementType(value.dtype)
    elif _is_library(origin_of(node, names)):
        return ElementType(node.attr)
    return UNREAD


def _subscript(node: ast.Subscript, names: Names, depth: int) -> Value:
    value, at = (value_of(part, names, depth) for part in (node.value, node.slice))
    if isinstance(value, tuple) and type(at) is int and -len(value) <= at < len(value):
        return value[at]
    return UNREAD


def _unary(node: ast.UnaryOp, names: Names, depth: int) -> Value:
    value = value_of(node.operand, names, depth)
    if isinstance(node.op, ast.Not):
        return UNREAD if value is UNREAD or isinstance(value, Array) else not value
    if isinstance(value, Array):
        return Array(value.shape)
    if isinstance(node.op, ast.USub) and type(value) in (int, float):
        return -value  # type: ignore[operator]
    return UNREAD


def _binary(node: ast.BinOp, names: Names, depth: int) -> Value:
    left, right = (value_of(part, names, depth) for part in (node.left, node.right))
    shapes = {value.shape for value in (left, right) if isinstance(value, Array)}
    if shapes:
        plain = all(isinstance(v, (Array, int, float)) for v in (left, right))
        arithmetic = not isinstance(node.op, ast.MatMult)
        return Array(shapes.pop()) if plain and arithmetic and len(shapes) == 1 else UNREAD
    if isinstance(left, tuple) and isinstance(right, tuple) and isinstance(node.op, ast.Add):
        return left + right if len(left) + len(right) <= _DEPTH else UNREAD
    return number(node.op, left, right)


def number(op: ast.operator, left: Value, right: Value) -> Value:
    """What an operator makes of two integers."""
    made = _OPERATORS.get(type(op))
    if type(left) is not int or type(right) is not int:
        return UNREAD
    if isinstance(op, ast.Pow) and 0 <= right <= 64 and abs(left) < 1 << 16:
        made = pow
    if made is None or (isinstance(op, (ast.FloorDiv, ast.Mod)) and not right):
        return UNREAD
    result = made(left, right)
    return result if abs(result) < _LARGEST else UNREAD


def _compare(node: ast.Compare, names: Names, depth: int) -> Value:
    values = [value_of(part, names, depth) for part in (node.left, *node.comparators)]
    if not all(type(value) is int for value in values):
        return UNREAD
    if not all(type(op) in COMPARISONS for op in node.ops):
        return UNREAD
    pairs = zip(node.ops, values, values[1:], strict=False)
    return all(COMPARISONS[type(op)](a, b) for op, a, b in pairs)  # type: ignore[arg-type]


def _boolean(node: ast.BoolOp, names: Names, depth: int) -> Value:
    values = [value_of(part, names, depth) for part in node.values]
    if not all(isinstance(value, bool) for value in values):
        return UNREAD
    return all(values) if isinstance(node.op, ast.And) else any(values)


_READERS: Final[Mapping[type[ast.expr], Callable[..., Value]]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Tuple: _tuple,
    ast.List: _tuple,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.Compare: _compare,
    ast.BoolOp: _boolean,
    ast.Call: lambda node, names, depth: _call(node, names, depth),
}


# ------------------------------------------------------------------------------------- tensors


def _call(node: ast.Call, names: Names, depth: int) -> Value:
    values: list[Value] = []
    for part in node.args:
        if isinstance(part, ast.Starred):
            spread = value_of(part.value, names, depth)
            if not isinstance(spread, tuple):
                return UNREAD
            values.extend(spread)
        else:
            values.append(value_of(part, names, depth))
    keywords = {k.arg: value_of(k.value, names, depth) for k in node.keywords}
    path = origin_of(node.func, names)
    if path:
        return _made(path, values, keywords)
    if isinstance(node.func, ast.Attribute):
        if _is_source(node.func.value, names):
            path = f"numpy.random.{_DRAWS.get(node.func.attr, node.func.attr)}"
            return _made(path, values, keywords)
        value = value_of(node.func.value, names, depth)
        return (
            _method(value, node.func.attr, values, keywords) if isinstance(value, Array) else UNREAD
        )
    if isinstance(node.func, ast.Name) and node.func.id == "len" and len(values) == 1:
        known = isinstance(values[0], tuple) and names.find("len") is None
        return len(values[0]) if known else UNREAD  # type: ignore[arg-type]
    return UNREAD


def _is_source(node: ast.expr, names: Names) -> bool:
    """Whether an expression is a generator of random numbers of NumPy's."""
    if isinstance(node, ast.Name):
        found = names.find(node.id)
        if found is None or found[0].value is None or found[0].item is not None:
            return False
        node, names = found[0].value, found[0].names or found[1]
    return isinstance(node, ast.Call) and origin_of(node.func, names) in _SOURCES


def _made(path: str, values: list[Value], keywords: Mapping[str | None, Value]) -> Value:
    """What a function of a library makes."""
    root, last = path.partition(".")[0], path.rpartition(".")[2]
    if last in _SAME and _is_library(path) and values and isinstance(values[0], Array):
        kind = keywords.get("dtype", values[1] if last == "static_cast" else None)
        return Array(values[0].shape, _type(kind, values[0].dtype))
    if root not in _DEFAULTS or not _PLAIN.issuperset(keywords):
        return UNREAD
    if last in _LIKE and values and isinstance(values[0], Array):
        return Array(values[0].shape, _type(keywords.get("dtype"), values[0].dtype))
    if last == "arange":
        count = values[0] if len(values) == 1 else UNREAD
        return Array((count,)) if type(count) is int and count > 0 else UNREAD
    shape = next((keywords[name] for name in _SHAPES if name in keywords), None)
    rest: list[Value] = []
    default = _DEFAULTS[root]
    if shape is None:
        shape, rest = _shape_among(path, values)
    if last == "full":
        default, rest = "", rest[1:]
    elif path in _DRAWN and root == "numpy":
        default, rest = "", []
    elif path not in _DRAWN and last not in _FILLED | _SPREAD:
        return UNREAD
    shape = (shape,) if type(shape) is int else shape
    if not isinstance(shape, tuple) or not all(type(n) is int and n > 0 for n in shape):
        return UNREAD
    return Array(shape, _type(keywords.get("dtype", rest[0] if rest else None), default))


def _shape_among(path: str, values: list[Value]) -> tuple[Value, list[Value]]:
    """The shape among the arguments of a function, and what comes after it."""
    root, last = path.partition(".")[0], path.rpartition(".")[2]
    at = _DRAWN.get(path, 0)
    spread = last in _SPREAD or (root == "torch" and last != "full")
    if spread and not (values and isinstance(values[0], tuple)):
        return tuple(values) or UNREAD, []
    return (values[at], values[at + 1 :]) if at < len(values) else (UNREAD, [])


def _type(said: Value, default: str) -> str:
    """The name of an element type; ``said`` is None where nothing is said."""
    if said is None:
        return default
    if isinstance(said, ElementType):
        return said.name
    return said if isinstance(said, str) else ""


def _method(
    array: Array, name: str, values: list[Value], keywords: Mapping[str | None, Value]
) -> Value:
    if name in _KEEPING:
        if name in _CASTS:
            return Array(array.shape, _CASTS[name])
        moved = name in ("astype", "to")
        said = keywords.get("dtype", values[0] if values else None)
        return Array(array.shape, _type(said, "") if moved else array.dtype)
    if name in ("reshape", "view") and not keywords:
        shape = values[0] if len(values) == 1 and isinstance(values[0], tuple) else tuple(values)
        return _reshaped(array, shape)
    if name in ("t", "transpose", "permute") and not keywords:
        axes = values[0] if len(values) == 1 and isinstance(values[0], tuple) else tuple(values)
        return _turned(array, name, axes)
    return UNREAD


def _turned(array: Array, name: str, axes: tuple[Value, ...]) -> Value:
    """A tensor with its axes in another order; with two axes that are named, ``transpose`` means
    one thing in NumPy and another in PyTorch."""
    rank = len(array.shape)
    if not axes and name != "permute":
        return Array(array.shape[::-1], array.dtype)
    order = [axis for axis in axes if type(axis) is int]
    alike = name == "permute" or (name == "transpose" and axes == (1, 0))
    if len(axes) != rank or sorted(order) != list(range(rank)) or not alike:
        return UNREAD
    return Array(tuple(array.shape[axis] for axis in order), array.dtype)


def _reshaped(array: Array, shape: Value) -> Value:
    if not isinstance(shape, tuple) or not shape or not all(type(n) is int for n in shape):
        return UNREAD
    whole = math.prod(array.shape)
    if shape.count(-1) == 1:
        known = -math.prod(shape)
        if known <= 0 or whole % known:
            return UNREAD
        shape = tuple(whole // known if n == -1 else n for n in shape)
    return Array(shape, array.dtype) if min(shape) > 0 and math.prod(shape) == whole else UNREAD
