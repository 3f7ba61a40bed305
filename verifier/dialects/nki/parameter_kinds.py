"""What kinds of values the parameters of NKI take: what is none of them is an error at once.

Follows from the descriptions of instructions, from defaults, and for the rest from names: each name
means the same wherever it is a parameter.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final, NamedTuple

from verifier.dialects.nki import isa, names
from verifier.dialects.nki.signatures.methods import OWNER
from verifier.dialects.nki.versions import newer
from verifier.dialects.signature import Parameter, Signature
from verifier.hardware import dtypes as dt
from verifier.source.ir import Span
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Trait
from verifier.symbolic.machine import Machine
from verifier.symbolic.python import inputs
from verifier.symbolic.python.model import (
    BoundBuiltin,
    Builtin,
    Class,
    Function,
    HostType,
    Method,
    Partial,
)
from verifier.symbolic.roles import PerPartition, Role, Takes
from verifier.symbolic.tensors import DType, View
from verifier.symbolic.values import (
    ApiRef,
    BufferValue,
    DynamicSlice,
    Enumerator,
    IndexGrid,
    IndexMask,
    IndexTensor,
    Listed,
    ModuleRef,
    OpaqueOf,
    Range,
    RankGroups,
    Ref,
    Register,
    SliceValue,
)


class Given(Enum):
    """What an argument is, as messages say it."""

    NONE = "None"
    NUMBER = "a number"
    FLAG = "a truth value"
    TEXT = "a text"
    DTYPE = "a dtype"
    OPERATOR = "an operator"
    MEMBER = "a member of an enumeration"
    CLASS = "an enumeration"
    MEMORY = "a memory"
    TENSOR = "a tensor"
    REGISTER = "a register"
    LIST = "a list"
    TUPLE = "a tuple"
    FUNCTION = "a function"
    SLICE = "a slice"
    RANGE = "a range"
    ELLIPSIS = "`...`"
    COMPLEX = "a complex number"
    BYTES = "bytes"
    DICT = "a dictionary"
    MODULE = "a module"
    INDICES = "an index array, or a mask"
    GROUP = "a replica group"
    TYPE = "a class"


class Wanted(NamedTuple):
    """What a parameter takes, in words; what is certainly none of it; the facts."""

    words: str
    never: frozenset[Given]
    facts: tuple[str, ...]
    #: what it takes of that which nothing else does
    also: frozenset[Given] = frozenset()
    #: what none of its items is, if it takes sequences; ``deep``: nor of theirs
    items: frozenset[Given] = frozenset()
    deep: bool = True


_NAMED: Final = frozenset(
    {Given.DTYPE, Given.OPERATOR, Given.MEMBER, Given.CLASS, Given.MEMORY, Given.FUNCTION}
)
_SEQUENCES: Final = frozenset({Given.LIST, Given.TUPLE})
_HELD: Final = frozenset({Given.TENSOR, Given.REGISTER}) | _SEQUENCES
_PLAIN: Final = frozenset({Given.NUMBER, Given.FLAG, Given.TEXT})
#: what the names of functions begin with whose arguments are the device's
_DEVICE: Final = ("isa.", "language.", "collectives.")
#: what Python has and no function of NKI takes, but for those that say so
_FOREIGN: Final = frozenset(
    {
        *(Given.SLICE, Given.RANGE, Given.ELLIPSIS, Given.COMPLEX, Given.BYTES, Given.DICT),
        *(Given.MODULE, Given.GROUP),
    }
)

_OPERATOR: Final = Wanted(
    "an operator", _PLAIN | _HELD | (_NAMED - {Given.OPERATOR}), ("N09", "M053")
)
_DTYPE: Final = Wanted(
    "a dtype",
    (_NAMED - {Given.DTYPE}) | _HELD | {Given.NUMBER, Given.FLAG},
    ("T01",),
)
_MEMORY: Final = Wanted(
    "a memory region",
    (_NAMED - {Given.MEMORY, Given.FUNCTION}) | _HELD | {Given.NUMBER, Given.FLAG},
    ("L02",),
)
_TEXT: Final = Wanted("a text", _NAMED | _HELD | {Given.NUMBER, Given.FLAG}, ("N09",))
_FLAG: Final = Wanted("a truth value", _NAMED | _HELD | {Given.TEXT}, ("N09",))
_NUMBER: Final = Wanted("a number", _NAMED | {Given.TEXT, Given.TENSOR}, ("N09",))
_CONSTANT: Final = Wanted(
    Takes.CONSTANT.value,
    _NAMED | _HELD | {Given.TEXT},
    ("N09",),
)
_NUMBERS: Final = Wanted(
    "numbers",
    _NAMED | {Given.TEXT, Given.TENSOR},
    ("N09",),
    also=frozenset({Given.RANGE}),
    items=_NAMED | {Given.TEXT, Given.NONE},
)
_WHOLE: Final = Wanted("an integer", _NAMED | {Given.TEXT, Given.TENSOR} | _SEQUENCES, ("N09",))
#: a field of an instruction, which is known when the kernel is compiled
_FIXED: Final = _WHOLE._replace(never=_WHOLE.never | {Given.REGISTER})
_WHOLES: Final = Wanted(
    "a list of integers",
    _NAMED | {Given.TEXT, Given.TENSOR, Given.NUMBER, Given.FLAG},
    ("N09",),
    also=frozenset({Given.RANGE}),
    items=_NAMED | {Given.TEXT, Given.TENSOR, Given.NONE},
)
#: a number is spoken of where it is known whether one is taken
_TILE: Final = Wanted(Takes.TILE.value, _SEQUENCES | {Given.FUNCTION, Given.TYPE}, ("N09",))
#: of tensors a list is documented, and no other sequence (NKI-DCM10, NKI-K15)
_LISTED: Final = Wanted(
    "a list of tensors",
    _NAMED | _PLAIN | {Given.TENSOR, Given.TUPLE},
    ("N09",),
    items=_NAMED | _PLAIN | _SEQUENCES | {Given.REGISTER, Given.NONE},
    deep=False,
)
#: one for each channel of a ring (NKI-K10)
_BY_CHANNEL: Final = _LISTED._replace(
    words="a list of lists of one tensor",
    items=(_LISTED.items | {Given.TENSOR}) - {Given.LIST},
)

#: how parameters are spoken of that take no floats
_INTEGER: Final = "an integer"

_POSITION: Final = Wanted(
    _INTEGER,
    _NAMED | _HELD | {Given.TEXT, Given.FLAG, Given.NONE, Given.INDICES},
    ("N02",),
)
_PLACES: Final = Wanted(
    "a tuple of integers",
    _NAMED | {Given.TENSOR, Given.REGISTER, Given.TEXT, Given.FLAG, Given.NONE, Given.INDICES},
    ("N02",),
    also=frozenset({Given.RANGE}),
    items=_NAMED | {Given.TENSOR, Given.REGISTER, Given.TEXT, Given.FLAG, Given.NONE},
)
_OFFSETS: Final = Wanted(
    "a tensor",
    _NAMED | _PLAIN | _SEQUENCES | {Given.INDICES},
    ("N02",),
)
_NAMES: Final = Wanted(
    "names of dimensions",
    _NAMED | {Given.TENSOR, Given.REGISTER, Given.NUMBER, Given.FLAG, Given.NONE},
    ("N02",),
)

#: parameters of methods of tensors
_OF_METHODS: Final[dict[str, Wanted]] = {
    **dict.fromkeys(("dim", "axis", "size", "step", "start_dim", "end_dim"), _POSITION),
    **dict.fromkeys(("start", "end"), _POSITION._replace(never=_POSITION.never - {Given.REGISTER})),
    **dict.fromkeys(
        ("offset", "indirect_dim", "num_elem"),
        _POSITION._replace(never=_POSITION.never - {Given.NONE}),
    ),
    **dict.fromkeys(("dims", "shape"), _PLACES),
    "pattern": _PLACES._replace(
        words="a list of steps and counts", never=_PLACES.never | {Given.NUMBER}
    ),
    "index": _POSITION._replace(
        words="an integer, or a scalar of the device",
        never=_POSITION.never - {Given.TENSOR, Given.REGISTER},
    ),
    # numbers of a program are told from those of its loops on the device where it is traced
    "scalar_offset": _OFFSETS._replace(
        words="a scalar of the device", never=_OFFSETS.never - {Given.NUMBER}
    ),
    "vector_offset": _OFFSETS._replace(never=_OFFSETS.never | {Given.REGISTER}),
    "dtype": _DTYPE,
    **dict.fromkeys(("src_pattern", "dst_pattern"), _NAMES),
    "fixed_sizes": Wanted(
        "sizes by name",
        _NAMED | _PLAIN | _HELD | {Given.INDICES},
        ("N02",),
        also=frozenset({Given.DICT}),
    ),
}

#: parameters that no description and no default speaks of
_BY_NAME: Final[dict[str, Wanted]] = {
    **dict.fromkeys(("dtype", "compute_dtype"), _DTYPE),
    "buffer": _MEMORY,
    "fill_value": _CONSTANT._replace(never=(_CONSTANT.never - {Given.TENSOR}) | {Given.NONE}),
    "replica_group": Wanted(
        "a ReplicaGroup",
        (_NAMED | _PLAIN | _HELD | {Given.NONE}) - {Given.TENSOR},
        ("K13",),
        also=frozenset({Given.GROUP}),
    ),
    "source_target_pairs": Wanted(
        "a list of pairs of ranks",
        _NAMED | _PLAIN | {Given.TENSOR, Given.REGISTER, Given.NONE},
        ("K09",),
        items=_NAMED | {Given.TEXT, Given.TENSOR, Given.REGISTER, Given.NONE},
    ),
    "name": _TEXT,
    **dict.fromkeys(("prefix", "print_prefix"), _TEXT._replace(facts=("L35",))),
    **dict.fromkeys(
        (
            *("axes", "axis", "channel_ids", "channel_multiplier", "collective_dim", "imm", "n"),
            *("num_elem_per_idx", "num_valid_indices", "offset", "pattern", "priority", "scales"),
            *("shape", "shuffle_mask", "step", "tile_position", "tile_size"),
        ),
        _NUMBERS,
    ),
}

#: parameters whose names mean something else elsewhere
_OF: Final[dict[tuple[str, str], Wanted]] = {
    ("isa.register_alloc", "x"): _WHOLE._replace(facts=("REG01",)),
    ("language.ds", "start"): Wanted(
        "an integer, or a register",
        _NAMED | _SEQUENCES | {Given.TEXT, Given.FLAG, Given.NONE, Given.INDICES, Given.TENSOR},
        ("L67", "M027"),
    ),
    ("language.ds", "size"): _POSITION._replace(facts=("L67",)),
    **dict.fromkeys(
        (("isa.sendrecv", each) for each in ("pipe_id", "send_to_rank", "recv_from_rank")),
        _WHOLE._replace(never=_WHOLE.never | {Given.NONE}),
    ),
    ("language.shared_constant", "constant"): Wanted(
        "a NumPy array, or the path of one",
        _NAMED | _SEQUENCES | {Given.NUMBER, Given.FLAG},
        ("L11",),
    ),
}

#: those of them that take a tensor, in one generation
_TENSORS_ONCE: Final = {
    ("isa.register_alloc", "x"): "0.2",
    ("language.ds", "start"): "beta1",
}

#: parameters of Beta 1 that take members of enumerations, or their names, without a default of it
_ENUMS_OF: Final = {"perf_mode": "matmul_perf_mode"}

#: functions that ask what memory a tensor, or a memory, is
_ASK: Final = frozenset(f"language.is_{each}" for each in ("hbm", "sbuf", "psum", "on_chip"))


def wanted(signature: Signature, parameter: Parameter) -> Wanted | None:
    """What a parameter takes; None where anything may go, or tensors are spoken of elsewhere."""
    if signature.name.startswith(OWNER):
        found = _OF_METHODS[parameter.name]
        return _needed(found, parameter) if parameter.default is None else found
    instruction = isa.find(signature.name)
    role = instruction.role(parameter.name) if instruction is not None else None
    takes = role.takes if role is not None else None
    if takes is Takes.OPERATOR:
        found = _operator(signature)
        return _needed(found, parameter) if parameter.default else found
    if takes is Takes.TILES:
        fact = role.count.fact if role is not None and role.count is not None else "N09"
        between = instruction is not None and Trait.COLLECTIVE in instruction.traits
        ring = instruction is not None and instruction.role("channel_ids") is not None
        return (_BY_CHANNEL if ring else _LISTED)._replace(
            facts=(fact, *(("K15",) if between else ()))
        )
    if role is not None and takes is Takes.CONSTANT:
        return _needed(_CONSTANT, parameter)._replace(facts=(role.constant,))
    if role is not None and takes is Takes.FLAG:
        return _FLAG._replace(facts=(role.constant,)) if role.constant else _FLAG
    special = _OF.get((signature.name, parameter.name))
    if special is not None:
        # the compiler of 0.2 took a tensor as well (NKI-REG01), and an offset was one in Beta 1
        taken = _TENSORS_ONCE.get((signature.name, parameter.name)) == signature.generation
        return special._replace(never=special.never - {Given.TENSOR}) if taken else special
    if takes in (Takes.INTEGER, Takes.INTEGERS):
        found = _needed(_FIXED if takes is Takes.INTEGER else _WHOLES, parameter)
        return found._replace(facts=(role.constant,)) if role and role.constant else found
    if role is not None and takes is Takes.VECTOR:
        return _vector(role, parameter)
    if takes is Takes.TILE and not signature.name.startswith("language."):
        return _TILE
    if takes is Takes.TILE or signature.name in _ASK:
        return None
    return _of_default(parameter.default or "") or _BY_NAME.get(parameter.name)


def _needed(wanted: Wanted, parameter: Parameter) -> Wanted:
    """What a parameter takes that is not left out by None."""
    may = parameter.default == "None"
    return wanted if may else wanted._replace(never=wanted.never | {Given.NONE})


def _vector(role: Role, parameter: Parameter) -> Wanted:
    """What is neither a number nor a tile; None stands for what is left out, if something may."""
    never = _SEQUENCES | {Given.REGISTER, Given.TEXT, Given.FUNCTION, Given.TYPE}
    if _of_default(parameter.default or "") is _NUMBER:
        never |= {Given.NONE}
    fact = role.shape.fact if isinstance(role.shape, PerPartition) else "N09"
    return Wanted(role.takes.value, never, (fact.removeprefix("NKI-"),))


def _operator(signature: Signature) -> Wanted:
    never = _OPERATOR.never
    if signature.generation == "beta1":
        never -= {Given.TEXT}  # its functions took the names of operators as well
    return _OPERATOR._replace(never=never)


_NUMERAL: Final = re.compile(r"-?[0-9][0-9.]*(?:e[+-]?[0-9]+)?")


def _of_default(default: str) -> Wanted | None:
    """What the default of a parameter says of it."""
    kind = default.partition(".")[0]
    if kind in names.ENUMS:
        return Wanted(f"a member of nki.isa.{kind}", _NAMED | _PLAIN | _HELD, ("N05",))
    if default in ("True", "False"):
        return _FLAG
    return _NUMBER if _NUMERAL.fullmatch(default) else None


def given(machine: Machine, value: object, span: Span) -> Given | None:
    """What a value certainly is; None while that is not known."""
    if value is None:
        return Given.NONE
    if isinstance(value, OpaqueOf):
        return _OF_HOST.get(value.host)
    if isinstance(value, inputs.Parameter):
        return Given.TENSOR if value.kind is inputs.InputKind.TENSOR else None
    for types, kind in _KINDS:
        if isinstance(value, types):
            return kind
    if isinstance(value, Enumerator):
        return Given.OPERATOR if value.kind == "op" else Given.MEMBER
    if isinstance(value, ApiRef):
        return _of_api(value)
    if isinstance(value, Ref):
        if machine.as_items(value, span) is not None:
            return Given.LIST
        return Given.DICT if machine.as_named(value, span) is not None else None
    return Given.ELLIPSIS if value is ... else None


_OF_HOST: Final = {
    **{float: Given.NUMBER, int: Given.NUMBER, str: Given.TEXT, bool: Given.FLAG},
    **{complex: Given.COMPLEX, bytes: Given.BYTES},
}

_KINDS: Final[tuple[tuple[type | tuple[type, ...], Given], ...]] = (
    ((bool, Bool), Given.FLAG),
    ((Expr, int, float), Given.NUMBER),
    (str, Given.TEXT),
    (DType, Given.DTYPE),
    (BufferValue, Given.MEMORY),
    (View, Given.TENSOR),
    (Register, Given.REGISTER),
    (Listed, Given.LIST),
    (tuple, Given.TUPLE),
    ((Function, Method, Builtin, BoundBuiltin, Partial), Given.FUNCTION),
    ((HostType, Class), Given.TYPE),
    ((SliceValue, DynamicSlice), Given.SLICE),
    (Range, Given.RANGE),
    (complex, Given.COMPLEX),
    (bytes, Given.BYTES),
    (ModuleRef, Given.MODULE),
    (RankGroups, Given.GROUP),
    ((IndexTensor, IndexMask, IndexGrid), Given.INDICES),
)


def _of_api(value: ApiRef) -> Given | None:
    if value.name in names.NAMESPACES.values():
        return Given.MODULE
    if value.name.removeprefix("isa.") in names.ENUMS:
        return Given.CLASS
    if not value.name.startswith("language."):
        return None
    operator = names.operator_name(value.name.removeprefix("language."))
    return None if operator is None else Given.OPERATOR


def fits(
    machine: Machine, signature: Signature, parameter: Parameter, value: object, span: Span
) -> bool:
    """Whether an argument may be what a parameter takes, a tensor where it takes one."""
    role, found = _role(signature, parameter), given(machine, value, span)
    if role is not None and role.takes in (Takes.TILE, Takes.VECTOR):
        number = role.takes is Takes.VECTOR or bool(role.number_until)
        return found not in _NAMED and not (found in _PLAIN and not number)
    return misfit(machine, signature, parameter, value, span) is None


def no_operand(machine: Machine, value: object, span: Span, equal: bool) -> Given | None:
    """What a value is that no operator of Python takes beside a tensor; None if it may.

    ``equal``: the operator asks for equality, by which arguments of other kinds are told apart.
    """
    found = given(machine, value, span)
    if equal:
        return found if found in _NAMED - {Given.FUNCTION} else None
    other = found in _NAMED | _FOREIGN | _SEQUENCES or found in (Given.TEXT, Given.TYPE)
    return found if other else None


class Misfit(NamedTuple):
    """An argument that is nothing its parameter takes: what it takes, and what to say."""

    wanted: str
    said: str
    facts: tuple[str, ...]
    help: tuple[str, ...] = ()


def misfit(
    machine: Machine, signature: Signature, parameter: Parameter, value: object, span: Span
) -> Misfit | None:
    """What is wrong with an argument; None if nothing is, as far as is known."""
    takes = wanted(signature, parameter)
    found = given(machine, value, span)
    kind = (parameter.default or "").partition(".")[0]
    kind = kind if kind in names.ENUMS else _ENUMS_OF.get(parameter.name, "")
    if isinstance(value, Enumerator) and value.kind in names.ENUMS:
        if value.kind == kind:
            return None
        none = "no member of an enumeration"
        facts = ("M072", "M074", "M094")
        return Misfit(
            takes.words if takes is not None else none,
            f"is given a member of `nisa.{value.kind}`",
            facts,
        )
    if takes is _DTYPE and isinstance(value, DType) and value.name in dt.HOST:
        said = f"takes {takes.words} of a device, and is given `{value.name}` of the host"
        return Misfit(takes.words, said, takes.facts, ("NKI has no elements of 64 bits",))
    if takes is _DTYPE and isinstance(value, str) and dt.canonical(value) is None:
        said = f"takes {takes.words}, and there is none named `{value}`"
        return Misfit(takes.words, said, takes.facts)
    operator = takes is not None and takes.words == _OPERATOR.words
    if (
        operator
        and isinstance(value, Enumerator)
        and value.library
        and signature.generation != "beta1"
    ):
        said = f"takes {_OPERATOR.words} of NKI's, and is given a function of NumPy's"
        help_ = ("write the operator of `nki.language`",)
        return Misfit("an operator of NKI's", said, ("M020", "T14"), help_)
    own = signature.name.startswith(OWNER) or (signature.name, parameter.name) in _OF
    if own and takes is not None and isinstance(value, float) and takes.words.startswith(_INTEGER):
        return Misfit(takes.words, f"takes {takes.words}, and is given a float", takes.facts)
    if found in _FOREIGN and signature.name.startswith(_DEVICE):
        if takes is not None and found in takes.also:
            return None
        role = _role(signature, parameter)
        words = takes.words if takes is not None else role.takes.value if role else "a value of NKI"
        because = takes.facts if takes is not None else ("N09",)
        return Misfit(words, f"takes {words}, and is given {found.value}", because)
    if takes is not None and takes.items and found in _SEQUENCES - takes.never:
        wrong = _wrong_item(machine, takes, value, span)
        if wrong is not None:
            said = f"takes {takes.words}, and one of them is {wrong.value}"
            return Misfit(takes.words, said, takes.facts)
    if takes is None or found not in takes.never:
        return None
    if kind and found in _PLAIN:
        # up to 0.2 members of enumerations were numbers, and their names did as well
        if not newer(machine.api, "0.3"):
            return _renumbered(machine, kind, value)
        if found is Given.NUMBER:
            help_ = (f"write a member of `nisa.{kind}`",)
            said = "takes no numbers since NKI 0.3"
            return Misfit(takes.words, said, ("N05", "M031", "M061"), help_)
    return Misfit(takes.words, f"takes {takes.words}, and is given {found.value}", takes.facts)


def _wrong_item(machine: Machine, takes: Wanted, value: object, span: Span) -> Given | None:
    """What the first item is that is none of what is taken; of items in items too, if need be."""
    for item in machine.as_items(value, span) or ():
        found = given(machine, item, span)
        if found in takes.items or found in _FOREIGN:
            return found
        inner = takes.deep and found in _SEQUENCES
        wrong = _wrong_item(machine, takes, item, span) if inner else None
        if wrong is not None:
            return wrong
    return None


def _role(signature: Signature, parameter: Parameter) -> Role | None:
    instruction = isa.find(signature.name)
    return instruction.role(parameter.name) if instruction is not None else None


def _renumbered(machine: Machine, kind: str, value: object) -> Misfit | None:
    """A number of Beta 1 that stands for another member since, which nobody is told."""
    meaning = _RENUMBERED.get((kind, value.const if isinstance(value, Expr) else value))
    if meaning is None or machine.api == "beta1":
        return None
    before, now = meaning
    said = f"is given a number that was `{before}` in NKI Beta 1 and is `{now}` since NKI 0.2"
    return Misfit(f"a member of nki.isa.{kind}", said, ("M031",), (f"write `nisa.{kind}.{now}`",))


#: members that traded places: their number -> what it was, and what it is
_RENUMBERED: Final[dict[tuple[str, object], tuple[str, str]]] = {
    ("dge_mode", 0): ("none", "unknown"),
    ("dge_mode", 3): ("unknown", "none"),
}

__all__ = ["Given", "Misfit", "Wanted", "fits", "given", "misfit", "no_operand", "wanted"]
