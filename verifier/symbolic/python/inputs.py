"""The kernel's parameters: what they are is decided by how the kernel uses them.

A parameter starts as a :class:`Parameter` without a kind. The first use decides: subscripted or
loaded, it is a tensor; in arithmetic, an integer; as ``dtype=``, a dtype. Sizes are symbols named
as a user would write them (``lhsT.shape[0]``). So are ranks (``x.rank``): conditions and
assertions of the kernel settle them like any other number; see :mod:`.ranks`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import msgspec
from msgspec import Struct

from verifier.hardware import dtypes as dt
from verifier.hardware.capabilities import Capability
from verifier.hardware.catalogue import Hardware
from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.source.project import Module
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.python.flow import HostCheck
from verifier.symbolic.python.pins import (
    ChoicePin,
    ContractMismatchError,
    Pin,
    RangePin,
    TensorPin,
    ValuePin,
)
from verifier.symbolic.tensors import Axis, DType, Mark, Storage, StorageKind, View
from verifier.symbolic.trace import LedgerEntry

#: the last dtype that a free tensor may have (the host-only ones come after it)
FREE_DTYPES = dt.CODES["float4_e2m1fn_x4"]
#: the last one where no input is of a packed type
_UNPACKED_DTYPES = dt.CODES["float8_e8m0fnu"]
#: annotations of strings
_TEXTS = frozenset({"str", "Optional[str]", "str|None", "None|str", "Union[str,None]"})
#: the highest rank that is considered
MAX_RANK = 8


class Guess(Struct, frozen=True):
    """A rank that was assumed: ``condition`` is the assumption, from ``order`` on.

    ``shown``: the text of the kernel suggests it.
    """

    rank: int
    condition: Bool
    order: int
    shown: bool


class InputKind(Enum):
    """What an input turns out to be."""

    TENSOR = "tensor"
    INTEGER = "int"
    FLAG = "bool"
    STRING = "str"
    DTYPE = "dtype"
    TUPLE = "tuple"
    #: of a buffer in a TPU's system memory
    ADDRESS = "address"


class Parameter(Struct, eq=False):
    """A parameter of the kernel. ``kind`` is None until a use decides it."""

    name: str
    span: Span
    default: object = None
    has_default: bool = False
    annotation: str = ""
    kind: InputKind | None = None
    #: the rank that it has on all paths, known at the end
    rank: int | None = None
    #: the ranks that the text suggests, the surest first, for where nothing settles it
    hints: tuple[int, ...] = ()
    #: the text speaks of its first dimension, and of no other
    first: bool = False
    #: the ranks that were assumed on some path
    guesses: list[Guess] = msgspec.field(default_factory=list)
    #: the whole tensor by rank
    views: dict[int, View] = msgspec.field(default_factory=dict)
    address: SystemAddress | None = None
    pinned: Pin | None = None
    #: the dtype that the kernel gives a pointer (PPL: ``set_dtype``)
    pointee: DType | None = None
    #: when it was first asked whether it is true, before anything decided what it is
    asked: int | None = None
    #: the kind that the answer has been tied to
    tied: InputKind | None = None
    #: what is not followed if it turns out to be a tensor: why, where, when
    unfollowed: list[tuple[str, Span, int]] = msgspec.field(default_factory=list)
    #: what its truth comes to if it turns out to be a tensor: checks, and what is not known
    as_tensor: list[tuple[list[HostCheck], list[LedgerEntry]]] = msgspec.field(default_factory=list)
    #: it is known when the kernel is compiled (PPL-A02): a size, a flag, a block
    constant: bool = False
    #: the kernel's text takes it to be negative at times
    signed: bool = False
    #: what is an error if it turns out to be a number, likewise
    refused: list[tuple[str, Span, int]] = msgspec.field(default_factory=list)

    @property
    def declared(self) -> TensorPin | None:
        """What a contract says of the tensor that it is."""
        pin = self.pinned
        return (
            pin.tensor
            if isinstance(pin, ChoicePin)
            else pin
            if isinstance(pin, TensorPin)
            else None
        )

    @property
    def declared_shape(self) -> tuple[Expr | None, ...] | None:
        """The sizes that a contract gives the tensor, None for those that it leaves free."""
        return None if self.declared is None else self.declared.shape

    def __repr__(self) -> str:
        return f"<parameter {self.name}>"


class Word(Parameter):
    """A parameter that is a string: its default or its annotation says so."""


#: annotations of numbers and truth values
_NUMBERS = ("int", "bool", "float")


def is_text(annotation: str) -> bool:
    """Whether an annotation says that a parameter is a string."""
    bare = annotation.strip("\"'").replace(" ", "").replace("typing.", "")
    return bare in _TEXTS or annotation.startswith(("Literal['", 'Literal["'))


def if_given(annotation: str) -> str:
    """What an annotation says of an argument that is there, if it is a number or a truth value.

    ``Optional[int]``, ``int | None`` and ``Union[int, None]`` say ``int``.
    """
    bare = annotation.strip("\"'").replace(" ", "").replace("typing.", "")
    for start in ("Optional[", "Union["):
        if bare.startswith(start) and bare.endswith("]"):
            bare = bare.removeprefix(start).removesuffix("]").replace(",", "|")
    named = [each for each in bare.split("|") if each != "None"]
    return named[0] if len(named) == 1 and named[0] in _NUMBERS else annotation


class LazyShape(Struct, frozen=True):
    """``x.shape`` of a tensor parameter whose rank is not known yet."""

    parameter: Parameter


@dataclass(slots=True)
class Inputs:
    """All parameters of one run, and the codes given to strings that are compared with."""

    parameters: dict[str, Parameter] = field(default_factory=dict)
    #: what a contract says of them, by their paths
    pinned: Mapping[str, Pin] = field(default_factory=dict)
    strings: dict[str, int] = field(default_factory=dict)
    #: the strings by their codes, as they are written in Python
    words: dict[int, str] = field(default_factory=dict)
    storages: list[Storage] = field(default_factory=list)
    #: the symbols of tensors' extents, with the name of the tensor
    extents: dict[Sym, str] = field(default_factory=dict)
    #: symbols of integer parameters, for the type facts that the report lists
    integers: list[str] = field(default_factory=list)
    #: parameters of which a rank was assumed
    guessed: list[Parameter] = field(default_factory=list)
    #: whether inputs may be of packed types
    packed: bool = True

    def __post_init__(self) -> None:
        for path, pin in self.pinned.items():
            tensor = pin.tensor if isinstance(pin, ChoicePin) else pin
            for size in (tensor.shape or ()) if isinstance(tensor, TensorPin) else ():
                atom = None if size is None else size.as_atom()
                if isinstance(atom, Sym):  # a size that a contract names is one of a tensor, too
                    self.extents.setdefault(atom, path)

    def rank_symbol(self, p: Parameter) -> Expr:
        """``len(p.shape)`` as an unknown."""
        if p.declared_shape is not None:
            return E.const(len(p.declared_shape))
        return E.symbol(f"{p.name}.rank", 1, MAX_RANK)

    def extent(self, p: Parameter, axis: int) -> Expr:
        """``p.shape[axis]`` for ``axis >= 0``."""
        declared = p.declared_shape
        pinned = None if declared is None or axis >= len(declared) else declared[axis]
        if pinned is not None:
            return pinned
        extent = E.symbol(f"{p.name}.shape[{axis}]", lo=1)
        atom = extent.as_atom()
        assert isinstance(atom, Sym)
        self.extents[atom] = p.name
        return extent

    def is_size(self, symbol: Sym) -> bool:
        """Whether it is an extent of a tensor, or an integer that an input is."""
        p = self.parameters.get(symbol.name)
        return symbol in self.extents or (p is not None and p.kind is InputKind.INTEGER)

    def shape(self, p: Parameter, rank: int) -> tuple[Expr, ...]:
        return tuple(self.extent(p, axis) for axis in range(rank))

    def dtype(self, p: Parameter) -> DType:
        if p.pointee is not None:
            return p.pointee
        if p.declared is not None and p.declared.dtype is not None:
            return DType.named(p.declared.dtype)
        return free_dtype(f"{p.name}.dtype", self.packed)

    def tensor(self, p: Parameter, rank: int) -> View:
        """The whole tensor, in HBM."""
        p.kind = InputKind.TENSOR
        known = p.views.get(rank)
        if known is None:
            known = p.views[rank] = self.declare(p, self.shape(p, rank))
        return known

    def declare(self, p: Parameter, shape: tuple[Expr, ...]) -> View:
        """A tensor of that shape in HBM that the parameter is; its elements are all there.

        What a contract says of it may be another shape: ``marks`` have the elements of that.
        """
        there, known = E.const(1), p.declared_shape or (None,)
        for size in known:
            there = there if size is None else there * size
        storage = Storage(
            id=-1 - len(self.storages),
            name=p.name,
            buffer=Buffer.HBM,
            dtype=self.dtype(p),
            shape=shape,
            partition_axis=None,
            span=p.span,
            kind=StorageKind.INPUT,
            initialised=True,
            marks={} if None in known else {Mark.ELEMENTS: there},
        )
        self.storages.append(storage)
        axes = []
        for position, extent in enumerate(shape):
            atom = E.symbol(f"{p.name}@{position}", 0, origin=E.Origin.AXIS).as_atom()
            assert isinstance(atom, E.Sym)
            axes.append(Axis(atom, extent))
        return View(
            storage=storage,
            instance=(),
            frame=shape,
            frame_partition=None,
            axes=tuple(axes),
            coords=tuple(axis.index for axis in axes),
            dtype=storage.dtype,
            span=p.span,
        )

    def address(self, p: Parameter) -> SystemAddress:
        """The start of a buffer in system memory.

        What a contract does not declare is not known: the buffer is as large as need be then
        (:attr:`Mark.DECLARED` is False), and its one dimension counts bytes.
        """
        p.kind = InputKind.ADDRESS
        if p.address is None:
            shape: tuple[Expr, ...] = (E.symbol(f"{p.name}.bytes", lo=0),)
            declared = p.declared_shape
            if declared is not None:
                shape = self.shape(p, len(declared))
            name = p.declared.dtype if p.declared is not None else None
            storage = Storage(
                id=-1 - len(self.storages),
                name=p.name,
                buffer=Buffer.HBM,
                dtype=DType.named(name or "uint8"),
                shape=shape,
                partition_axis=None,
                span=p.span,
                kind=StorageKind.INPUT,
                initialised=True,
                marks={Mark.DECLARED: declared is not None},
            )
            self.storages.append(storage)
            p.address = SystemAddress(storage, E.const(0))
        return p.address

    def integer(self, p: Parameter) -> Expr:
        """The parameter as an integer.

        It is assumed not to be negative, unless its default is or the text says that it may be.

        Raises:
            ContractMismatchError: a contract makes it one of several dtypes.
        """
        if p.declared is not None and p.declared.shape is None and len(p.declared.dtypes) > 1:
            listed = " or ".join(f"`{name}`" for name in p.declared.dtypes)
            text = f"`{p.name}` is used as a number, and the contract makes it {listed}"
            raise ContractMismatchError(text)
        p.kind = InputKind.INTEGER
        if isinstance(p.pinned, RangePin):
            return E.symbol(p.name, p.pinned.lower, p.pinned.upper)
        if isinstance(p.pinned, ValuePin) and isinstance(p.pinned.value, int):
            return E.const(int(p.pinned.value))
        least = 1 if p.constant else 0
        if p.signed or _is_below(p.default, least):
            return E.symbol(p.name, lo=None)
        symbol = E.symbol(p.name, lo=least)
        if E.bounds(symbol)[0] is not None and p.name not in self.integers:
            self.integers.append(p.name)  # no contract says that it may be negative
        return symbol

    def truth(self, p: Parameter) -> Bool:
        """Whether an input is true of which nothing is known yet."""
        return E.bool_symbol(truth_name(p.name))

    def flag(self, p: Parameter) -> Bool:
        p.kind = InputKind.FLAG
        if p.asked is not None:
            return self.truth(p)
        if isinstance(p.pinned, ValuePin):
            return E.truth(bool(p.pinned.value))
        return E.bool_symbol(p.name)

    def as_dtype(self, p: Parameter) -> DType:
        p.kind = InputKind.DTYPE
        if p.declared is not None and p.declared.dtype is not None:
            return DType.named(p.declared.dtype)
        return free_dtype(p.name, self.packed)

    def length(self, p: Parameter) -> Expr:
        """``len(p)`` of a tuple or list."""
        return E.symbol(f"len({p.name})", 0)

    def item(self, p: Parameter, position: int) -> Expr:
        """``p[position]`` of a tuple of integers."""
        p.kind = InputKind.TUPLE
        name = f"{p.name}[{position}]"
        given = p.default[position : position + 1] if isinstance(p.default, tuple) else ()
        if any(_is_below(item, 0) for item in given):
            return E.symbol(name, lo=None)
        if name not in self.integers:
            self.integers.append(name)
        return E.symbol(name, lo=0)

    def string_equals(self, p: Parameter, text: str, said: str | None = None) -> Bool:
        """Whether a string parameter is ``text``; ``said``: how that is written, if not so."""
        p.kind = InputKind.STRING
        if isinstance(p.pinned, ValuePin):
            return E.truth(p.pinned.value == text)
        return self.word(p, text, said)

    def word(self, p: Parameter, text: str, said: str | None = None) -> Bool:
        """Whether an input that is one of several named values is that one."""
        code = self.strings.setdefault(text, len(self.strings) + 1)
        self.words.setdefault(code, said if said is not None else json.dumps(text))
        return E.eq(E.symbol(p.name, 0, None, words=self.words), code)

    def any_of_strings(self, p: Parameter) -> tuple[tuple[Bool, str], ...]:
        """The strings that any parameter is compared with, and when this one is each."""
        return tuple((self.string_equals(p, text), text) for text in tuple(self.strings))


def packs(hardware: Hardware, module: Module) -> bool:
    """Whether inputs may be of packed types: something computes with these, or the text names one.

    Kernels move them about where nothing computes with them.
    """
    named = any(name in module.words for name in dt.NAMES if dt.DTYPES[name][1] == "packed")
    return named or hardware.has(Capability.MX_MATMUL)


def free_dtype(name: str, packed: bool) -> DType:
    """Any element type of an input; ``packed``: those of four numbers are among them."""
    last = FREE_DTYPES if packed else _UNPACKED_DTYPES
    return DType(E.symbol(name, 0, last, domain=dt.NAMES))


def truth_name(name: str) -> str:
    """The symbol of whether an input is true."""
    return f"bool({name})"


def absent_name(name: str) -> str:
    """The symbol of whether an input is None."""
    return f"{name} is None"


def left_out(name: str) -> str:
    """The symbol of whether a caller leaves an input out, so that it is its default."""
    return f"{name} is its default"


def _is_below(default: object, least: int) -> bool:
    """Whether a default value shows that the least value of an integer input is none."""
    return isinstance(default, Expr) and default.is_const and default.const < least
