"""Contracts made effective: what they pin, and the relations they state, in symbols."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from verifier.configuration import contracts as tree
from verifier.configuration import showing
from verifier.configuration.contracts import Contract
from verifier.configuration.suggestions import did_you_mean
from verifier.engine import contract_terms
from verifier.engine.contract_signs import Signs
from verifier.hardware import dtypes as dt
from verifier.source import ir
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python import signs
from verifier.symbolic.python.contradictions import TRUTHS
from verifier.symbolic.python.inputs import absent_name, free_dtype
from verifier.symbolic.python.pins import (
    ChoicePin,
    ContractMismatchError,
    DefaultPin,
    FlagPin,
    IntegerPin,
    NamedPin,
    ObjectPin,
    Pin,
    RangePin,
    SequencePin,
    TensorPin,
    TypePin,
    ValuePin,
    argument_path,
    item_path,
)
from verifier.symbolic.tensors import DType


class Effect:
    """What one contract says about one kernel, as symbols."""

    def __init__(
        self,
        contract: Contract,
        definition: ir.FunctionDef,
        enclosing: Sequence[ir.FunctionDef] = (),
        inputs: Sequence[str] = (),
        packed: bool = True,
    ) -> None:
        """``enclosing``: the functions around a nested kernel, whose parameters are inputs too.
        ``inputs``: the fields of what the kernel is given, where that is a structure.
        ``packed``: whether an input may be of a packed type.

        Raises:
            ContractMismatchError: a parameter or a name does not exist.
        """
        self.pinned: dict[str, Pin] = {}
        self.conditions: list[tuple[Bool, str]] = []
        self.grid: tuple[int, ...] | None = None
        self._names: dict[str, Expr] = {}
        self._packed = packed
        own = inputs or tuple(p.name for p in definition.params)
        self._parameters = {*own, *(p.name for d in enclosing for p in d.params)}
        for parameter in contract.parameters:
            if parameter.name not in self._parameters:
                near = did_you_mean(parameter.name, self._parameters)
                raise ContractMismatchError(
                    f"`{definition.name}` has no parameter `{parameter.name}`{near}"
                )
        self._params = {p.name: p for d in (*enclosing, definition) for p in d.params}
        named = {parameter.name for parameter in contract.parameters}
        self._defaults = {
            name
            for name, param in self._params.items()
            if contract.defaults and param.default is not None and name not in named
        }
        self._signed = self._negatives(contract, (*enclosing, definition))
        self._bind_sizes(contract)
        # Sizes of buffers may be integers that are inputs themselves.
        self._said = dict(inputs_of(contract))
        for path, spec in sorted(self._said.items(), key=lambda item: _turn(item[1])):
            pin = self._pin(path, spec)
            if pin is not None:
                self.pinned[path] = pin
        self.pinned.update(dict.fromkeys(self._defaults, DefaultPin()))
        if contract.grid:
            sizes = [self._expr(size) for size in contract.grid]
            if not all(size.is_const for size in sizes):
                raise ContractMismatchError("the sizes of a launch grid must be plain integers")
            self.grid = tuple(size.const for size in sizes)
            if min(self.grid) < 1:
                raise ContractMismatchError("a launch grid has at least one program")
        for condition in contract.conditions:
            self.conditions.append((self._bool(condition), showing.condition(condition, 1)))

    def _bind_sizes(self, contract: Contract) -> None:
        """A name that is no parameter stands for the first size or integer that it is alone."""
        for path, spec in inputs_of(contract):
            tensors = _tensors(spec)
            for axis, size in enumerate(tensors[0].shape or () if tensors else ()):
                if isinstance(size, tree.Name) and self._is_new(size):
                    self._names[size.id] = E.symbol(f"{path}.shape[{axis}]", lo=1)
            if isinstance(spec, tree.IntSpec) and isinstance(spec.value, tree.Name):
                if self._is_new(spec.value):
                    self._names[spec.value.id] = self._integer(path)

    def _negatives(
        self, contract: Contract, definitions: Sequence[ir.FunctionDef]
    ) -> frozenset[str]:
        """The inputs that may be negative: the kernel's text says so, or the contract does."""
        found = {name for each in definitions for name in signs.negatives(each)}
        found |= {name for name, param in self._params.items() if _is_negative(param.default)}
        said = dict(inputs_of(contract))
        homes = {name: name for name in self._parameters}
        homes = {n: n for n in homes if n not in said or _is_number(said[n])}
        sizes = {
            size.id
            for spec in said.values()
            for tensor in _tensors(spec)
            for size in tensor.shape or ()
            if isinstance(size, tree.Name)
        }
        signed: set[str] = set()
        for path, spec in said.items():
            if isinstance(spec, tree.IntSpec) and isinstance(spec.value, tree.Name):
                if spec.value.id not in sizes:
                    homes.setdefault(spec.value.id, path)
            elif isinstance(spec, tree.RangeSpec) and _is_known(spec.lower):
                signed.add(path)  # what it may be is said
        signed |= {name for name, path in homes.items() if path in found}
        known = Signs(homes.keys() - signed, signed)
        found |= {homes[name] for name in known.admitted(contract.conditions)}
        for path, spec in said.items():
            value = spec.lower if isinstance(spec, tree.RangeSpec) else None
            value = spec.value if isinstance(spec, tree.IntSpec) else value
            if value is not None and not isinstance(value, tree.Name):
                if known.may_be_negative(value):
                    found.add(path)
        return frozenset(found)

    def _integer(self, path: str) -> Expr:
        """An input of which it is not said which integers it may be."""
        return E.symbol(path, lo=None if path in self._signed else 0)

    def _is_new(self, name: tree.Name) -> bool:
        known = name.id in self._names or name.id in self._parameters
        return name.id.isidentifier() and not known

    # -- integers ------------------------------------------------------------------------

    def _expr(self, node: tree.Expression) -> Expr:
        return contract_terms.integer(node, self._leaf, self._bool)

    def _leaf(self, leaf: tree.Leaf) -> Expr:
        if isinstance(leaf, tree.Name):
            return self._number(leaf.id)
        if isinstance(leaf, tree.Extent):
            return self._extent(leaf)
        if isinstance(leaf, tree.ItemSize):
            return self._dtype(leaf.tensor).itemsize
        if self.grid is not None:
            return E.const(self.grid[leaf.axis] if leaf.axis < len(self.grid) else 1)
        return E.symbol(f"num_programs({leaf.axis})", 1, origin=E.Origin.GRID)

    def _number(self, path: str) -> Expr:
        """The integer that a name stands for.

        Raises:
            ContractMismatchError: it is none, or it is not known here which.
        """
        known = self._names.get(path)
        if known is not None:
            return known
        spec = self._said.get(path)
        if self._free(path) and path in self._parameters:
            if not _may_be_number(self._params.get(path)):
                raise ContractMismatchError(f"say what `{path}` is: its default is no plain number")
            return self._integer(path)
        if "." in path or not _is_number(spec):
            raise ContractMismatchError(self._no_number(path, spec))
        pin = self.pinned.get(path)
        if isinstance(pin, ValuePin) and isinstance(pin.value, int):
            return E.const(int(pin.value))
        if isinstance(pin, RangePin):
            return E.symbol(path, pin.lower, pin.upper)
        return self._integer(path)

    def _no_number(self, path: str, spec: tree.Spec | None) -> str:
        base = path.partition(".")[0].partition("[")[0]
        if base not in self._parameters:
            return f"`{path}` is not a size or a parameter" + did_you_mean(
                path, {*self._parameters, *self._names} - {path}
            )
        if "." in path:
            argument = path.rpartition(".")[2]
            return (
                f"`{path}` is what the object makes of its arguments: name the argument, as in "
                f"`{argument}=T`, and speak of `T`"
            )
        if base in self._defaults or isinstance(spec, tree.DefaultSpec):
            return f"`{path}` is its default: say which number that is"
        return f"`{path}` is not given as an integer"

    def _tensor(self, path: str) -> TensorPin | None:
        """What is said of a tensor; None: nothing.

        Raises:
            ContractMismatchError: it is no tensor, or it is not known here which.
        """
        pin = self.pinned.get(path)
        pin = pin.tensor if isinstance(pin, ChoicePin) else pin
        if isinstance(pin, TensorPin) and "." not in path:
            return pin
        spec = self._said.get(path)
        if "." in path or path in self._defaults or path not in self._parameters:
            raise ContractMismatchError(
                f"`{path}` is no tensor that a condition can speak of: name its sizes"
            )
        if spec is not None and not isinstance(spec, (tree.Anything, tree.TensorSpec)):
            raise ContractMismatchError(f"`{path}` is no tensor")
        return None

    def _extent(self, node: tree.Extent) -> Expr:
        pin = self._tensor(node.tensor)
        if pin is not None and pin.shape is not None:
            if node.axis >= len(pin.shape):
                raise ContractMismatchError(
                    f"`{node.tensor}` has {len(pin.shape)} dimensions, not {node.axis + 1}"
                )
            size = pin.shape[node.axis]
            if size is not None:
                return size
        return E.symbol(f"{node.tensor}.shape[{node.axis}]", lo=1)

    def _dtype(self, path: str) -> DType:
        pin = self._tensor(path)
        if pin is not None and pin.dtype is not None:
            return DType.named(pin.dtype)
        return free_dtype(f"{path}.dtype", self._packed)

    # -- conditions ----------------------------------------------------------------------

    def _bool(self, said: tree.Condition) -> Bool:
        if isinstance(said, tree.Comparison):
            return E.and_(*contract_terms.compared(said, self._expr))
        if isinstance(said, tree.OfDType):
            found = self._dtype(said.tensor).among(dt.codes(*said.dtypes))
            return E.not_(found) if said.negated else found
        if isinstance(said, tree.SameDType):
            same = self._dtype(said.first).same(self._dtype(said.second))
            return E.not_(same) if said.negated else same
        if isinstance(said, tree.Alike):
            one, other = self._bool(said.first), self._bool(said.second)
            same = E.and_(E.or_(one, E.not_(other)), E.or_(other, E.not_(one)))
            return E.not_(same) if said.negated else same
        if isinstance(said, tree.Absent):
            absent = self._absent(said.path)
            return E.not_(absent) if said.negated else absent
        if isinstance(said, tree.Flag):
            return self._flag(said.path)
        if isinstance(said, tree.Not):
            return E.not_(self._bool(said.condition))
        join = E.and_ if said.kind == "and" else E.or_
        return join(*(self._bool(part) for part in said.parts))

    def _free(self, path: str) -> bool:
        """Whether nothing is said of an input, not even that it is its default."""
        return path not in self._said and path not in self._defaults

    def _flag(self, path: str) -> Bool:
        pin = self.pinned.get(path)
        if isinstance(pin, ValuePin) and isinstance(pin.value, bool):
            return E.truth(pin.value)
        if pin == TensorPin(None, (TRUTHS,)):  # then it is one of two values, not a tensor
            pin = self.pinned[path] = FlagPin()
        if isinstance(pin, FlagPin) or (self._free(path) and _is_flag(self._params.get(path))):
            return E.bool_symbol(path)
        raise ContractMismatchError(f"`{path}` is not given as a truth value")

    def _absent(self, path: str) -> Bool:
        pin = self.pinned.get(path)
        if isinstance(pin, ValuePin):
            return E.truth(pin.value is None)
        if isinstance(pin, ChoicePin):
            optional = pin.tensor is not None or any(
                isinstance(o, ValuePin) and o.value is None for o in pin.options
            )
            return E.bool_symbol(absent_name(path)) if optional else E.FALSE
        param = self._params.get(path)
        if self._free(path) and param is not None and _is_constant(param.default, type(None)):
            return E.bool_symbol(absent_name(path))
        if isinstance(pin, (TensorPin, RangePin, SequencePin)):
            return E.FALSE
        raise ContractMismatchError(f"whether `{path}` is None is not said: give `{{None, ...}}`")

    # -- inputs --------------------------------------------------------------------------

    def _pin(self, path: str, spec: tree.Spec) -> Pin | None:
        if isinstance(spec, tree.TensorSpec):
            return self._tensor_pin(path, spec)
        if isinstance(spec, tree.RangeSpec):
            return self._range(path, spec)
        if isinstance(spec, tree.IntSpec):
            value = self._expr(spec.value)
            if value.is_const:
                return ValuePin(value.const)
            if value is self._integer(path):
                return IntegerPin()
            said = f"{path} == {showing.number(spec.value)}"
            self.conditions.append((E.eq(self._integer(path), value), said))
            return IntegerPin()
        if isinstance(spec, tree.KindSpec):
            return _of_kind(spec)
        if isinstance(spec, tree.SequenceSpec):
            return SequencePin(len(spec.elements), spec.kind == "list")
        if isinstance(spec, tree.ObjectSpec):
            names = tuple(keyword.name for keyword in spec.keywords)
            return ObjectPin(spec.path, len(spec.arguments), names)
        if isinstance(spec, tree.ChoiceSpec):
            return self._choice(path, spec)
        if isinstance(spec, tree.DefaultSpec):
            return DefaultPin()
        return _single(spec)

    def _range(self, path: str, spec: tree.RangeSpec) -> RangePin | IntegerPin:
        lower, upper = self._expr(spec.lower), self._expr(spec.upper)
        if lower.is_const and upper.is_const:
            return RangePin(lower.const, upper.const)
        symbol = self._integer(path)
        self.conditions.append((E.ge(symbol, lower), f"{path} >= {showing.number(spec.lower)}"))
        self.conditions.append((E.le(symbol, upper), f"{path} <= {showing.number(spec.upper)}"))
        return IntegerPin()

    def _tensor_pin(self, path: str, spec: tree.TensorSpec) -> TensorPin:
        if len(spec.dtypes) > 1:
            among = tree.OfDType(path, spec.dtypes)
            self.conditions.append((self._bool(among), showing.condition(among)))
            if spec.shape is None:  # it may be a dtype itself
                either = free_dtype(path, self._packed).among(dt.codes(*spec.dtypes))
                self.conditions.append((either, ""))
        if spec.shape is None:
            return TensorPin(None, spec.dtypes)
        return TensorPin(tuple(map(self._size, spec.shape)), spec.dtypes)

    def _size(self, size: tree.Size) -> Expr | None:
        if isinstance(size, tree.Anything):
            return None
        extent = self._expr(size)
        positive = E.ge(extent, 1)
        if positive is not E.TRUE:
            self.conditions.append((positive, f"{showing.number(size)} >= 1"))
        return extent

    def _choice(self, path: str, spec: tree.ChoiceSpec) -> Pin:
        numbers = [option.value for option in spec.options if isinstance(option, tree.IntSpec)]
        if len(numbers) == len(spec.options):
            return self._numbers(path, [self._expr(number) for number in numbers], spec)
        values = [option.value for option in spec.options if isinstance(option, tree.LiteralSpec)]
        if len(values) == len(spec.options) and set(values) == {True, False}:
            return FlagPin()
        if len({_plain(option) for option in spec.options}) < len(spec.options):
            raise ContractMismatchError(f"`{path}`: some of {showing.spec(spec)} are equal")
        tensors = _tensors(spec)
        if len(tensors) > 1:
            raise ContractMismatchError(f"`{path}` is at most one tensor: {showing.spec(spec)}")
        options = []
        for option in spec.options:
            if option not in tensors:
                options.append(self._option(path, option))
        return ChoicePin(tuple(options), self._tensor_pin(path, tensors[0]) if tensors else None)

    def _numbers(self, path: str, values: Sequence[Expr], spec: tree.ChoiceSpec) -> RangePin:
        if not all(value.is_const for value in values):
            raise ContractMismatchError(f"`{path}` is one of plain integers: {showing.spec(spec)}")
        known = sorted({value.const for value in values})
        symbol = E.symbol(path, known[0], known[-1])
        among = E.or_(*(E.eq(symbol, value) for value in known))
        if among is not E.TRUE:
            self.conditions.append((among, f"{path} in ({', '.join(map(str, known))})"))
        return RangePin(known[0], known[-1])

    def _option(self, path: str, option: tree.Spec) -> ValuePin | NamedPin:
        if isinstance(option, tree.IntSpec):
            value = self._expr(option.value)
            if value.is_const:
                return ValuePin(value.const)
        single = _single(option)
        if single is None:
            raise ContractMismatchError(f"`{path}`: {showing.spec(option)} is no single value")
        return single


def inputs_of(contract: Contract) -> Iterator[tuple[str, tree.Spec]]:
    """All inputs that it speaks of, a parameter before its parts."""
    pending = [(p.name, p.spec) for p in reversed(contract.parameters)]
    while pending:
        path, spec = pending.pop()
        yield path, spec
        pending.extend(reversed(list(_parts(path, spec))))


def _parts(path: str, spec: tree.Spec) -> Iterator[tuple[str, tree.Spec]]:
    """The inputs that one is made of."""
    if isinstance(spec, tree.SequenceSpec):
        yield from ((item_path(path, k), item) for k, item in enumerate(spec.elements))
    elif isinstance(spec, tree.ObjectSpec):
        yield from ((argument_path(path, k), item) for k, item in enumerate(spec.arguments))
        yield from ((argument_path(path, item.name), item.spec) for item in spec.keywords)


def _tensors(spec: tree.Spec) -> Sequence[tree.TensorSpec]:
    """The tensors that an input may be."""
    options = spec.options if isinstance(spec, tree.ChoiceSpec) else (spec,)
    return [option for option in options if isinstance(option, tree.TensorSpec)]


def _single(spec: tree.Spec) -> ValuePin | NamedPin | None:
    """A value that says all by itself."""
    if isinstance(spec, tree.NamedSpec):
        return NamedPin(spec.path)
    if isinstance(spec, (tree.FloatSpec, tree.StringSpec, tree.LiteralSpec)):
        return ValuePin(spec.value)
    return None


def _of_kind(spec: tree.KindSpec) -> Pin:
    """Any value of a type; what ``bool`` is the input decides, see :mod:`.contradictions`."""
    if spec.kind == "int":
        return IntegerPin()
    return TensorPin(None, (TRUTHS,)) if spec.kind == "bool" else TypePin(spec.kind)


def _turn(spec: tree.Spec) -> int:
    """When an input is looked at: integers first, those before that need no others."""
    if not _is_number(spec):
        return 2
    return int(not all(map(_is_known, _ends(spec))))


def _ends(spec: tree.Spec) -> tuple[tree.Expression, ...]:
    """The integers that an integer input is given by."""
    if isinstance(spec, tree.RangeSpec):
        return (spec.lower, spec.upper)
    if isinstance(spec, tree.ChoiceSpec):
        return tuple(o.value for o in spec.options if isinstance(o, tree.IntSpec))
    return (spec.value,) if isinstance(spec, tree.IntSpec) else ()


def _is_known(number: tree.Expression) -> bool:
    """Whether it is written down as a number."""
    if isinstance(number, tree.Binary):
        return _is_known(number.left) and _is_known(number.right)
    return isinstance(number, tree.Int)


def _is_number(spec: tree.Spec | None) -> bool:
    """Whether an input is given as an integer."""
    if isinstance(spec, tree.ChoiceSpec):
        return all(isinstance(option, tree.IntSpec) for option in spec.options)
    return isinstance(spec, (tree.IntSpec, tree.RangeSpec)) or spec == tree.KindSpec("int")


def _is_constant(node: ir.Expr | None, *kinds: type) -> bool:
    return isinstance(node, ir.Const) and type(node.value) in kinds


def _is_negative(node: ir.Expr | None) -> bool:
    return isinstance(node, ir.UnaryOp) and node.op == "-" and _is_constant(node.operand, int)


def _may_be_number(param: ir.Param | None) -> bool:
    """Whether a parameter of which nothing is said can only be a number where it is used as one."""
    node = None if param is None else param.default
    if isinstance(node, ir.UnaryOp):
        node = node.operand
    return node is None or _is_constant(node, int, type(None))


def _is_flag(param: ir.Param | None) -> bool:
    return param is not None and _is_constant(param.default, bool)


def _plain(option: tree.Spec) -> object:
    """What tells options apart: equal values are one, as in Python."""
    if isinstance(option, tree.IntSpec) and isinstance(option.value, tree.Int):
        return option.value.value
    if isinstance(option, (tree.FloatSpec, tree.LiteralSpec, tree.StringSpec)):
        return option.value
    return option


__all__ = ["Contract", "ContractMismatchError", "Effect", "inputs_of"]
