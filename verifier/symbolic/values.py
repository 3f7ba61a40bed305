"""Values of the interpreted Python program, beyond integers and views.

Integers are always :class:`~verifier.symbolic.expr.Expr` (also constants), truth values Python
``bool`` or :class:`~verifier.symbolic.expr.Bool`; ``None``, ``str``, ``float``, ``tuple`` and
``Ellipsis`` are themselves. Mutable Python objects live in the interpreter's heap and are
referred to by :class:`Ref`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from verifier.hardware.memories import Buffer
from verifier.source import apis
from verifier.source.ir import Span
from verifier.symbolic.expr import TRUE, Bool, Expr
from verifier.symbolic.tensors import Axis, DType, LoopKind, View
from verifier.symbolic.trace import Operation

if TYPE_CHECKING:
    from verifier.source.project import Module

#: what is no part of a project, so that nobody misses it there
_LIBRARIES: Final = frozenset({"jax", "numpy", "torch"}) | frozenset(sys.stdlib_module_names)

#: the generation of names that all but the oldest have
CURRENT: Final = "current"


class Opaque(Struct, frozen=True):
    """A value that is not followed: an attribute of an unresolved import, a float, a torch tensor.

    ``harmless`` marks values that cannot influence shapes (floats, strings for messages), so that
    carrying them along is no approximation. ``lost`` marks those that statements of the project
    would have made that are not followed: whoever uses them does what is not followed either.
    ``given`` marks what the caller gives: that it takes what is done with it is listed.
    """

    reason: str
    harmless: bool = False
    lost: bool = False
    given: bool = False


class OpaqueOf(Opaque, frozen=True):
    """A value that is not followed but for its type, a built-in one: the float that ``n % 0.3`` is.

    It goes where others go that are not followed; what its type does not take is an error still.
    ``loose``: an annotation says float, and an integer will do for one. ``interval``: a float that
    is between two others, and not nan. A ``host`` of ``object`` is any of Python's own types.
    Nothing that may fail for any value of its type may be done with one unseen.
    """

    host: type = float
    loose: bool = False
    interval: tuple[float, float] | None = None


class Noted(Opaque, frozen=True):
    """What a test framework notes of a test until it collects them: ``pytest.mark.slow``.

    As a decorator it ``leaves`` what it is given, or makes something of it that only the framework
    calls.
    """

    leaves: bool = True


class FolderText(OpaqueOf, frozen=True):
    """The absolute path of a folder of the project, as a text: where it is installed is not known.

    ``folder``: where it is now.
    """

    folder: str = ""


class DeviceData(Enum):
    """What only the device knows."""

    TENSOR = "what a tensor holds"
    REGISTER = "a register"
    COMPUTED = "what is computed with a register, or with such an index"
    INDEX = "the index of a loop on the device"
    ARRAY = "an index array, or a mask made of some"


class HostUse(Enum):
    """What a program on the host needs the value for, in words."""

    CONDITION = "a condition"
    LOOP = "the condition of a while loop"
    ENTRY = "the first condition of a while loop"
    RANGE = "`range()`"
    INTEGER = "`int()`"
    FLOAT = "`float()`"
    EXTREMUM = "`min()` or `max()`"
    ARITHMETIC = "arithmetic"
    EXTENT = "the extent of a slice"
    ITEM = "an item of a sequence"
    COUNT = "the length of a sequence"


class OnDevice(Opaque, frozen=True):
    """What a program on the host makes of a scalar that only the device knows.

    ``of``: the register, in words; ``held``: the elements that it is made of.
    """

    of: str = ""
    held: tuple[View, ...] = ()


class RankGroups(Opaque, frozen=True):
    """Which ranks work together: lists of their numbers."""

    groups: tuple[tuple[Expr, ...], ...] = ()


class Missing(Opaque, frozen=True):
    """What a name stands for that is not there, which has been reported: anything at all.

    Nothing is held against what is done with it, and a call of it is taken to write what it is
    given: the rest of the kernel is judged as if the name had been there. ``api``: a kernel API
    was to have it, whose functions write their first operand alone. ``part_of``: the tensor whose
    part it is.
    """

    api: bool = False
    part_of: object = None


#: a text that is not known
TEXT: Final = OpaqueOf("a formatted string", harmless=True, host=str)
#: a truth value that no size depends on
TRUTH: Final = OpaqueOf("a comparison of floats", harmless=True, host=bool)


def unsure(reason: str) -> OpaqueOf:
    """A value of Python's own of which not even the type is known."""
    return OpaqueOf(reason, host=object)


@dataclass(frozen=True, slots=True)
class Enumerator:
    """A named constant of an API: an ALU operator, an engine, a reduce command, a DGE mode.

    ``kind`` is ``op``, ``engine``, ``reduce_cmd``, ``dge_mode``, ``oob_mode``, ``perf_mode``,
    ``dma_engine``, ``nc_version``, ``buffer`` ...; ``name`` its canonical name (``add``,
    ``vector``). ``written``: another name that the text has for it, which says the same.
    ``library``: whose name that is, if it is none of the API's (``numpy`` of ``np.add``).
    """

    kind: str
    name: str
    written: str = field(default="", compare=False)
    library: str = field(default="", compare=False)


class BufferValue(Struct, frozen=True):
    """A memory region object: ``nl.sbuf``, or what Beta 1's ``mod_alloc(...)`` returned."""

    buffer: Buffer
    placement: Mapping[str, object] = msgspec.field(default_factory=dict)


class ModuleRef(Struct, frozen=True):
    """An imported module: one of the project, or an external one (``module is None``)."""

    path: str
    module: Module | None = None


class ApiRef(Struct, frozen=True):
    """A function, class or namespace of a kernel API, by canonical name (``isa.nc_matmul``).

    ``generation`` is what the dialect calls the generation of the API that a name was reached
    through, where that decides what it means.
    """

    name: str
    generation: str = CURRENT


@dataclass(frozen=True, slots=True)
class ExternalRef:
    """A name of a library that is not on disk, e.g. ``numpy.float32`` or ``torch.nn``.

    ``imported`` is the module as the import spells it, ``where`` the place of the import in words
    (``line 4``); neither tells values apart.
    """

    path: str
    imported: str = field(default="", compare=False)
    where: str = field(default="", compare=False)

    @property
    def said(self) -> str:
        """The value in words: ```size` of `helper`, which is not found (line 4)``."""
        module = self.imported.lstrip(".")
        if not self.imported:
            owner, _, attr = self.path.rpartition(".")
            return f"`{attr}`" if owner in ("", "builtins") else f"`{attr}` of `{owner}`"
        rest = self.path.removeprefix(module).removeprefix(".")
        what = f"`{rest}` of `{self.imported}`" if rest else f"`{self.imported}`"
        root = module.partition(".")[0]
        library = root in _LIBRARIES or root in apis.libraries()
        library = library and not self.imported.startswith(".")
        why = "which is not followed" if library else "which is not found"
        return f"{what}, {why}" + (f" ({self.where})" if self.where else "")


class Ref(Struct, frozen=True):
    """A mutable object in the heap (list, dict, set, instance), by number."""

    id: int


class Listed(tuple[object, ...]):
    """The items of a list that Python made in a run: to be told from those of a tuple."""

    __slots__ = ()


class RecordType(Struct, frozen=True):
    """A structure of an API with named, assignable fields (``dim4``); instances are in the heap."""

    name: str
    fields: tuple[str, ...]


class RecordValue(Struct, frozen=True):
    """What a record holds now; also one of several, with fields that depend on the path.

    ``origin`` is what :meth:`verifier.symbolic.machine.Machine.fill` was told when its fields were
    computed, None if they were not or another case holds another. ``places`` are the records that
    the path chooses from, if there are several: to assign to it is to assign to the chosen one.
    """

    kind: RecordType
    fields: tuple[object, ...]
    origin: object = None
    places: object = None


class AddressType(Struct, frozen=True):
    """The type of inputs that are addresses of buffers in system memory."""

    name: str


class Managed(Struct, frozen=True, eq=False):
    """What ``with`` enters and leaves."""

    enter: Callable[[], None]
    leave: Callable[[], None]


class Range(Struct, frozen=True):
    """``range``, ``nl.affine_range`` and kin: ``start, stop, step`` and what the loop promises."""

    start: Expr
    stop: Expr
    step: Expr
    kind: LoopKind
    span: Span | None = None


class DeviceLoop(Struct, frozen=True):
    """A loop on the device given as a function: ``nl.fori_loop``, ``nl.while_loop`` (NKI 0.6).

    The interpreter calls ``body`` once: with the loop's index where it has ``bounds``, else with
    the register ``given`` (the body returns the next condition). ``returned`` is told what the body
    returns.
    """

    body: object
    bounds: Range | None
    span: Span
    returned: Callable[[object], None]
    given: Register | None = None


class DynamicSlice(Struct, frozen=True):
    """``nl.ds(start, size)``."""

    start: object
    size: Expr


class SliceValue(Struct, frozen=True):
    """``slice(start, stop, step)``, each None or a value."""

    start: object
    stop: object
    step: object


class IndexTensor(Struct, frozen=True):
    """A Beta 1 index array (``nl.arange``, ``nl.mgrid``) or affine arithmetic on some.

    ``expr`` is the index at the element with the given axis symbols; ``axes`` maps an axis position
    (``0 <= position < ndim``) to its symbol and extent. ``grid``: ``nl.mgrid`` made it, or a part
    of it. ``bent``: it is written as what is not affine, whatever that comes to.
    """

    expr: Expr
    ndim: int
    axes: tuple[tuple[int, Axis], ...]
    grid: bool = False
    bent: bool = False


class IndexMask(Struct, frozen=True):
    """A Beta 1 mask: a conjunction of comparisons of index tensors, ``bent`` if one of them is."""

    condition: Bool
    ndim: int
    axes: tuple[tuple[int, Axis], ...]
    bent: bool = False


class IndexGrid(Struct, frozen=True):
    """What ``nl.mgrid[...]`` returns: an index tensor per axis (``.p``, ``.x``, ``.y``, ``.z``)."""

    parts: tuple[IndexTensor, ...]


class Ratio(Struct, frozen=True):
    """A true division of integers, exact until ``math.ceil``, ``math.floor`` or ``int`` ends it.

    Real kernels write ``math.ceil(a / b)``; the float is never represented.
    """

    num: Expr
    den: Expr


class DTypeText(Struct, frozen=True):
    """``str(x.dtype)``: compared with names in any spelling."""

    dtype: DType


class Register(Struct, frozen=True):
    """A scalar register of the device: the host cannot compute with its value.

    ``place``: the tensor of one element that stands for it, by which is known what has set it; None
    of those that the device sets itself. ``held``: the record of what it holds on each path, see
    :mod:`verifier.symbolic.registers`.
    """

    name: str
    place: View | None = None
    held: object = None


def places(*values: object) -> tuple[View, ...]:
    """The tensors whose elements these values of the running device are, registers among them."""
    held = (value.place if isinstance(value, Register) else value for value in values)
    return tuple(value for value in held if isinstance(value, View))


class ParDim(Struct, frozen=True):
    """``nl.par_dim(n)``: marks the partition dimension in a shape."""

    size: Expr


class PendingAdd(Struct, frozen=True):
    """Beta 1: the result of ``nc_matmul`` before it is assigned or added to a PSUM tile."""

    operation: Operation
    view: View


class Guarded(Struct, frozen=True):
    """A value that depends on the path: disjoint guards, in order; together they cover the path."""

    cases: tuple[tuple[Bool, object], ...]

    @staticmethod
    def of(cases: list[tuple[Bool, object]]) -> object:
        return cases[0][1] if len(cases) == 1 and cases[0][0] is TRUE else Guarded(tuple(cases))
