"""From the syntax tree of a contract's text to what it says."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, cast

from lark import Token, Tree
from msgspec import Struct

from verifier.configuration import contracts as tree
from verifier.configuration.names import UnknownNameError, target
from verifier.configuration.suggestions import did_you_mean
from verifier.hardware import dtypes

#: every spelling of a dtype, with its one name
DTYPES: Final = dtypes.SPELLINGS
_LITERALS: Final[Mapping[str, bool | None]] = {"True": True, "False": False, "None": None}
_DEFAULT: Final = "default"
#: types of Python's, each for any of its values
_KINDS: Final[Mapping[str, Literal["int", "bool", "float", "str"]]] = {
    "int": "int",
    "bool": "bool",
    "float": "float",
    "str": "str",
}
#: functions whose results are integers
_FUNCTIONS: Final = frozenset({"min", "max", "num_programs"})
_COMPARATORS: Final[Mapping[str, tree.Comparator]] = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}
#: of nesting: keeps every walk over a contract far from the recursion limit
_MAX_DEPTH: Final = 100
#: of one sum or product, for the same reason
_MAX_TERMS: Final = 200

_Node = Tree[Token]


class ContractError(ValueError):
    """A contract that does not follow the grammar.

    ``column`` is 0-based and ``length`` at least 1; ``str()`` is one line, :meth:`frame` adds the
    text with carets under the place.
    """

    def __init__(self, message: str, text: str, column: int, length: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.text = text
        self.column = column
        self.length = max(1, length)

    def __str__(self) -> str:
        text = self.text.strip().replace("\n", " ")
        return f"bad contract '{text}': column {self.column + 1}: {self.message}"

    def frame(self) -> str:
        """The message, the text and a line of carets, for a terminal."""
        text = self.text.replace("\t", " ").replace("\n", " ")
        return f"{self.message}\n  {text}\n  {' ' * self.column}{'^' * self.length}"


def contract_of(text: str, start: _Node, comment: bool) -> tree.Contract:
    """The contract of a text, whose syntax tree is ``start``.

    Raises:
        ContractError: it says something that no contract says.
    """
    reader = _Reader(text)
    reader.check_depth(start)
    return reader.contract(start, comment)


class _Reader(Struct):
    text: str

    # -- places

    def error(self, message: str, node: object) -> ContractError:
        start, end = _start(node), _end(node)
        return ContractError(message, self.text, start, end - start)

    def check_depth(self, start: _Node) -> None:
        level: list[_Node] = [start]
        for _ in range(_MAX_DEPTH):
            level = [c for node in level for c in node.children if isinstance(c, Tree)]
        if level:
            raise self.error("nested too deeply", level[0])

    # -- the whole

    def contract(self, start: _Node, comment: bool) -> tree.Contract:
        dotted, grid, params, on, said = start.children
        kernel = None if dotted is None else ".".join(_words(_tree(dotted)))
        if kernel is not None and comment:
            raise self.error(
                "a contract in a comment belongs to the kernel below; omit the name", dotted
            )
        if kernel is None and not comment:
            raise ContractError("expected the name of a kernel", self.text, 0)
        sizes = () if grid is None else tuple(self.number(item) for item in _tree(grid).children)
        entries = (
            []
            if params is None
            else [_tree(item) for item in _tree(params).children if item is not None]
        )
        defaults = bool(entries) and entries[-1].data == "rest"
        parameters = self.parameters(entries[:-1] if defaults else entries)
        conditions: list[tree.Condition] = []
        for item in () if said is None else _tree(said).children:
            if item is not None:
                found = self.condition(item)
                joined = isinstance(found, tree.Junction) and found.kind == "and"
                conditions += cast(tree.Junction, found).parts if joined else (found,)
        targets = () if on is None else self.targets(_tree(on))
        return tree.Contract(kernel, sizes, parameters, tuple(conditions), defaults, targets)

    def targets(self, node: _Node) -> tuple[str, ...]:
        found: list[str] = []
        for word in (child for child in node.children if child is not None):
            try:
                found.append(target(str(word)))
            except UnknownNameError as error:
                raise self.error(str(error), word) from error
        return tuple(dict.fromkeys(found))

    def parameters(self, entries: Sequence[_Node]) -> tuple[tree.Parameter, ...]:
        found: dict[str, tree.Parameter] = {}
        for entry in entries:
            if entry.data == "rest":
                raise self.error("'...' stands after the last parameter", entry)
            name, item = entry.children
            assert isinstance(name, Token)
            if name in found:
                raise self.error(f"parameter '{name}' is given twice", name)
            found[str(name)] = tree.Parameter(str(name), self.spec(item))
        return tuple(found.values())

    # -- inputs

    def spec(self, node: object) -> tree.Spec:
        item = _tree(node)
        make = _SPECS.get(item.data)
        if make is not None:
            return make(self, item)
        return tree.IntSpec(self.number(item))

    def named(self, node: _Node) -> tree.Spec:
        (word,) = _words(node)
        if word in _LITERALS:
            return tree.LiteralSpec(_LITERALS[word])
        if word == "_":
            return tree.Anything()
        if word == _DEFAULT:
            return tree.DefaultSpec()
        if word in _KINDS:
            return tree.KindSpec(_KINDS[word])
        if word in DTYPES:
            return tree.TensorSpec((DTYPES[word],), None)
        return tree.IntSpec(self.number(node))

    def dotted(self, node: _Node) -> tree.Spec:
        if node.children[1] == "itemsize":
            return tree.IntSpec(self.number(node))
        return tree.NamedSpec(self.path(node))

    def path(self, node: object) -> tuple[str, ...]:
        """The words of ``a.b.c``."""
        item = _tree(node)
        if item.data == "name":
            return tuple(_words(item))
        if item.data != "attribute":
            raise self.error("expected a name such as 'Mode.FAST'", item)
        inner, word = item.children
        return (*self.path(inner), str(word))

    def input(self, node: object) -> str:
        """The path of an input: ``x``, ``cfg.tile``, ``xs[1]``."""
        item = _tree(node)
        if item.data == "subscript":
            return f"{self.input(item.children[0])}[{self.place(item)}]"
        if item.data == "attribute":
            inner, word = item.children
            return f"{self.input(inner)}.{word}"
        return self.path(item)[0]

    def place(self, node: _Node) -> int:
        """The number in brackets."""
        places = [_tree(place) for place in node.children[1:] if place is not None]
        if len(places) != 1 or places[0].data != "integer":
            raise self.error("expected one number in brackets", node)
        return self.integer(places[0]).value

    def between(self, node: _Node) -> tree.RangeSpec:
        lower, upper = (self.number(child) for child in node.children)
        if (
            isinstance(lower, tree.Int)
            and isinstance(upper, tree.Int)
            and lower.value > upper.value
        ):
            raise self.error(f"the range {lower.value}..{upper.value} is empty", node)
        return tree.RangeSpec(lower, upper)

    def signed_value(self, node: _Node) -> tree.Spec:
        sign, operand = node.children
        if isinstance(operand, Tree) and operand.data == "float" and sign == "-":
            return tree.FloatSpec(-float(_words(operand)[0]))
        return tree.IntSpec(self.number(node))

    def sequence(self, node: _Node) -> tree.SequenceSpec:
        kind: Literal["tuple", "list"] = "tuple" if node.data == "tuple" else "list"
        return tree.SequenceSpec(kind, tuple(map(self.spec, _items(node))))

    def several(self, node: _Node) -> tree.Spec:
        options = tuple(_element(self.spec(item)) for item in _items(node))
        found = self.dtypes(node) if all(map(_is_dtype, options)) else None
        if found is not None:
            return tree.TensorSpec(found, None)
        for option, item in zip(options, _items(node), strict=True):
            if isinstance(
                option,
                (
                    *(tree.RangeSpec, tree.Anything, tree.DefaultSpec, tree.ChoiceSpec),
                    tree.KindSpec,
                ),
            ):
                raise self.error("a set is of single values", item)
        return tree.ChoiceSpec(options)

    def tensor(self, node: _Node) -> tree.Spec:
        first, *items = node.children
        if _tree(first).data == "attribute" and _tree(first).children[1] == "shape":
            return tree.IntSpec(self.number(node))
        sizes = [item for item in items if item is not None]
        named = _tree(first)
        dtypes_ = () if named.data == "name" and _words(named) == ["_"] else self.dtypes(named)
        if len(sizes) == 1 and _tree(sizes[0]).data == "rest":
            return tree.TensorSpec(dtypes_, None)
        return tree.TensorSpec(dtypes_, tuple(self.size(item) for item in sizes))

    def dtypes(self, node: _Node) -> tuple[str, ...]:
        """A dtype, or several in braces or parentheses."""
        if node.data in ("set", "tuple", "parens"):
            return tuple(dict.fromkeys(name for item in _items(node) for name in self.dtypes(item)))
        if node.data not in ("name", "attribute"):
            raise self.error("expected a dtype", node)
        word = self.path(node)[-1]
        if word not in DTYPES:
            raise self.error(f"'{word}' is not a dtype{did_you_mean(word, DTYPES)}", node)
        return (DTYPES[word],)

    def size(self, node: object) -> tree.Size:
        item = _tree(node)
        if item.data == "anything" or (item.data == "name" and _words(item) == ["_"]):
            return tree.Anything()
        return self.number(item)

    def made(self, node: _Node) -> tree.Spec:
        called, *given = node.children
        path = self.path(called)
        if path[-1] in _FUNCTIONS:
            return tree.IntSpec(self.number(node))
        arguments: list[tree.Spec] = []
        named: list[_Node] = []
        for item in (_tree(child) for child in given if child is not None):
            if item.data == "keyword":
                named.append(item)
            elif named:
                raise self.error("a value without a name stands after one with a name", item)
            else:
                arguments.append(self.spec(item))
        return tree.ObjectSpec(path, tuple(arguments), self.parameters(named))

    def refused(self, node: _Node) -> tree.Spec:
        raise self.error("expected a value", node)

    # -- integers

    def number(self, node: object) -> tree.Expression:
        item = _tree(node)
        make = _NUMBERS.get(item.data)
        if make is None:
            raise self.error("expected an integer or a name", item)
        return make(self, item)

    def integer(self, node: _Node) -> tree.Int:
        (word,) = _words(node)
        try:
            return tree.Int(int(word))
        except ValueError as error:
            raise self.error(f"'{word}' is not an integer", node) from error

    def name(self, node: _Node) -> tree.Name:
        (word,) = _words(node)
        if word in (*_LITERALS, "_"):
            raise self.error(f"expected an integer or a name, found '{word}'", node)
        return tree.Name(word)

    def attribute(self, node: _Node) -> tree.Expression:
        inner, word = _tree(node.children[0]), str(node.children[1])
        if word == "itemsize" and inner.data == "attribute" and inner.children[1] == "dtype":
            return tree.ItemSize(self.input(inner.children[0]))
        if word in ("shape", "dtype"):
            raise self.error("expected an integer, as 'x.shape[0]' or 'x.dtype.itemsize'", node)
        return tree.Name(self.input(node))

    def item(self, node: _Node) -> tree.Expression:
        inner = _tree(node.children[0])
        if inner.data == "attribute" and inner.children[1] == "shape":
            return tree.Extent(self.input(inner.children[0]), self.place(node))
        return tree.Name(self.input(node))

    def signed(self, node: _Node) -> tree.Expression:
        sign, inner = node.children
        operand = self.number(inner)
        if sign == "+":
            raise self.error("a sign '+' says nothing", node)
        if isinstance(operand, tree.Int) and operand.value > 0:
            return tree.Int(-operand.value)
        return tree.Negate(operand)

    def chain(self, node: _Node) -> tree.Expression:
        """A sum or a product, from the left."""
        if len(node.children) > 2 * _MAX_TERMS:
            raise self.error("too many terms in one expression", node)
        left = self.number(node.children[0])
        for op, operand in zip(node.children[1::2], node.children[2::2], strict=True):
            sign = cast(tree.BinaryOperator, str(op))
            left = tree.Binary(sign, left, self.number(operand))
        return left

    def chosen(self, node: _Node) -> tree.Expression:
        then, test, other = node.children
        return tree.Either(self.condition(test), self.number(then), self.number(other))

    def called(self, node: _Node) -> tree.Expression:
        function, *given = node.children
        path = self.path(function)
        args = [item for item in given if item is not None]
        if path in (("min",), ("max",)) and len(args) > 1:
            which: Literal["min", "max"] = "min" if path == ("min",) else "max"
            return tree.Extreme(which, tuple(map(self.number, args)))
        if path[-1] == "num_programs" and len(args) == 1 and _tree(args[0]).data == "integer":
            return tree.Programs(self.integer(_tree(args[0])).value)
        raise self.error(f"'{'.'.join(path)}(...)' is no integer that a contract knows", node)

    def inner_number(self, node: _Node) -> tree.Expression:
        return self.number(node.children[0])

    # -- conditions

    def condition(self, node: object) -> tree.Condition:
        item = _tree(node)
        make = _CONDITIONS.get(item.data)
        if make is None:
            raise self.error("expected a comparison such as '<='", item)
        return make(self, item)

    def junction(self, node: _Node) -> tree.Junction:
        kind: Literal["and", "or"] = "and" if node.data == "and" else "or"
        parts: list[tree.Condition] = []
        for child in node.children:
            found = self.condition(child)
            same = isinstance(found, tree.Junction) and found.kind == kind
            parts += cast(tree.Junction, found).parts if same else (found,)
        return tree.Junction(kind, tuple(parts))

    def negated(self, node: _Node) -> tree.Not:
        return tree.Not(self.condition(node.children[0]))

    def inner_condition(self, node: _Node) -> tree.Condition:
        return self.condition(node.children[0])

    def flag(self, node: _Node) -> tree.Flag:
        path = self.input(node)
        if path in _LITERALS or path == "_":
            raise self.error(f"expected a comparison such as '<=', found '{path}'", node)
        return tree.Flag(path)

    def compared(self, node: _Node) -> tree.Condition:
        operands = [_tree(child) for child in node.children[::2]]
        ops = [self.comparator(_tree(child)) for child in node.children[1::2]]
        if len(ops) == 1:
            alike = self.alike(operands[0], ops[0], operands[1])
            special = alike or self.special(operands[0], ops[0], operands[1])
            if special is not None:
                return special
        for op, operand in zip(ops, operands[1:], strict=True):
            if op not in _COMPARATORS.values():
                raise self.error(f"'{op}' compares a dtype or None, alone", operand)
        numbers = tuple(self.number(operand) for operand in operands)
        return tree.Comparison(numbers, cast("tuple[tree.Comparator, ...]", tuple(ops)))

    def comparator(self, node: _Node) -> str:
        (child,) = node.children if node.children else (node,)
        return _COMPARATORS.get(_tree(child).data) or _tree(child).data.replace("_", " ").replace(
            "among", "in"
        )

    def alike(self, left: _Node, op: str, right: _Node) -> tree.Alike | None:
        """A comparison of two conditions, each in parentheses."""
        sides = [_inside(side) for side in (left, right)]
        if op not in ("==", "!=") or not all(side.data in _TRUTHS for side in sides):
            return None
        return tree.Alike(self.condition(sides[0]), self.condition(sides[1]), op == "!=")

    def special(self, left: _Node, op: str, right: _Node) -> tree.Condition | None:
        """A comparison of what is no number."""
        negated = op in ("!=", "not in", "is not")
        if right.data == "name" and _words(right) == ["None"]:
            return tree.Absent(self.input(left), negated)
        if left.data != "attribute" or left.children[1] != "dtype":
            return None
        if op not in ("==", "!=", "in", "not in", "is", "is not"):
            raise self.error("dtypes are not ordered", left)
        tensor = self.input(left.children[0])
        if right.data == "attribute" and right.children[1] == "dtype":
            other = self.input(right.children[0])
            return tree.SameDType(tensor, other, negated)
        return tree.OfDType(tensor, self.dtypes(right), negated)


_SPECS: Final[Mapping[str, Callable[[_Reader, _Node], tree.Spec]]] = {
    "name": _Reader.named,
    "attribute": _Reader.dotted,
    "range": _Reader.between,
    "signed": _Reader.signed_value,
    "tuple": _Reader.sequence,
    "list": _Reader.sequence,
    "set": _Reader.several,
    "subscript": _Reader.tensor,
    "call": _Reader.made,
    "rest": _Reader.refused,
    "float": lambda _, node: tree.FloatSpec(float(_words(node)[0])),
    "string": lambda reader, node: tree.StringSpec(_string(reader, node)),
    "anything": lambda _, node: tree.Anything(),
}
_NUMBERS: Final[Mapping[str, Callable[[_Reader, _Node], tree.Expression]]] = {
    "integer": _Reader.integer,
    "name": _Reader.name,
    "attribute": _Reader.attribute,
    "subscript": _Reader.item,
    "signed": _Reader.signed,
    "sum": _Reader.chain,
    "product": _Reader.chain,
    "chosen": _Reader.chosen,
    "call": _Reader.called,
    "parens": _Reader.inner_number,
}
_CONDITIONS: Final[Mapping[str, Callable[[_Reader, _Node], tree.Condition]]] = {
    "and": _Reader.junction,
    "or": _Reader.junction,
    "not": _Reader.negated,
    "parens": _Reader.inner_condition,
    "compared": _Reader.compared,
    "name": _Reader.flag,
    "attribute": _Reader.flag,
    "subscript": _Reader.flag,
}


#: what is a condition and nothing else
_TRUTHS: Final = frozenset({"and", "or", "not", "compared"})


def _inside(node: _Node) -> _Node:
    """What stands in parentheses."""
    return _inside(_tree(node.children[0])) if node.data == "parens" else node


def _string(reader: _Reader, node: _Node) -> str:
    try:
        return str(ast.literal_eval(_words(node)[0]))
    except (SyntaxError, ValueError) as error:
        raise reader.error("this string has a bad escape", node) from error


def _element(option: tree.Spec) -> tree.Spec:
    """One of several; among these ``bool`` is a dtype: ``{True, False}`` says both values."""
    if option == tree.KindSpec("bool"):
        return tree.TensorSpec((DTYPES["bool"],), None)
    return option


def _is_dtype(option: tree.Spec) -> bool:
    return isinstance(option, tree.TensorSpec) and option.shape is None


def _items(node: _Node) -> list[_Node]:
    return [_tree(child) for child in node.children if child is not None]


def _tree(node: object) -> _Node:
    assert isinstance(node, Tree)
    return node


def _words(node: _Node) -> list[str]:
    return [str(child) for child in node.children]


def _start(node: object) -> int:
    if isinstance(node, Token):
        return node.start_pos or 0
    meta = _tree(node).meta
    return 0 if meta.empty else meta.start_pos


def _end(node: object) -> int:
    if isinstance(node, Token):
        return node.end_pos or 1
    meta = _tree(node).meta
    return 1 if meta.empty else meta.end_pos
