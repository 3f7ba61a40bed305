"""What parameters are given that are no operands: by their default, by their name, or anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.differential.kernels import Shape, Text
from verifier.dialects.nki import names
from verifier.dialects.signature import Parameter
from verifier.hardware import dtypes as dt
from verifier.symbolic import expr as E
from verifier.symbolic.roles import Limit
from verifier.symbolic.tensors import DType
from verifier.symbolic.values import Enumerator

#: element types that kernels name: the common ones more often
DTYPES: Final = (
    *("float32", "bfloat16", "float16") * 4,
    *("int32", "uint32", "uint8", "int8", "uint16", "int16", "float8_e4m3", "float8_e5m2") * 2,
    *(name for name, (_, kind) in dt.DTYPES.items() if kind in ("float", "int", "packed", "scale")),
)
#: how often a parameter is given that has a default
_GIVEN: Final = 0.3


@dataclass(frozen=True, slots=True)
class Plain:
    """An argument as it is written, and as a description reads it."""

    text: str
    value: object


def number(value: float | bool) -> Plain:
    return Plain(repr(value), E.const(value) if type(value) is int else value)


def nested(value: Any) -> Plain:
    """Lists and tuples of integers."""

    def read(item: Any) -> object:
        return tuple(map(read, item)) if isinstance(item, (list, tuple)) else E.const(item)

    return Plain(repr(value), read(value))


def dtype(name: str) -> Plain:
    return Plain(f"nl.{name}", DType.named(name))


def member(kind: str, name: str) -> Plain:
    return Plain(f"nisa.{kind}.{name}", Enumerator(kind, name))


def _axis(text: Text, shape: Shape) -> Plain:
    rank = max(2, len(shape))
    if text.slips():
        return nested(text.rng.choice((0, rank, -rank, (0, 1), (rank - 1, 1), -1 - rank)))
    if rank > 2 and text.one(0.5):
        return nested(text.rng.choice((tuple(range(1, rank)), (rank - 1,))))
    return nested(text.rng.choice((rank - 1, -1, (rank - 1,))))


def _shape(text: Text, shape: Shape) -> Plain:
    value = nested(tuple(shape))
    return Plain(text.shape(shape), value.value)


def _columns(shape: Shape) -> int:
    found = 1
    for extent in shape[1:]:
        found *= extent
    return found


def _pattern(text: Text, shape: Shape) -> Plain:
    columns = _columns(shape)
    choices = [[[1, columns]]]
    if columns % 2 == 0:
        choices += [[[columns // 2, 2], [1, columns // 2]], [[0, 2], [3, columns // 2]]]
    if text.slips():
        spoilt: list[Any] = [[[1, columns + 1]], [[1, 1]] * 5, [], [[1]], [1, columns]]
        return nested(text.rng.choice(spoilt))
    return nested(text.rng.choice(choices))


def _shuffle(text: Text, shape: Shape) -> Plain:
    rng = text.rng
    entries = [rng.choice((rng.randrange(32), 255, 0)) for _ in range(32)]
    if text.slips():
        entries = rng.choice((entries[:-1], [*entries[:-1], 32], [255] * 32))
    return nested(entries)


def _axes(text: Text, shape: Shape) -> Plain:
    rank = len(shape)
    if rank < 2 or text.slips():
        return nested(text.rng.choice(((0, 1), (1, 1), (2, 0, 1), (3, 1, 2, 0))))
    turned = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}.get(rank, tuple(range(rank)))
    return nested(turned)


def _any_of(*values: Any) -> Callable[[Text, Shape], Plain]:
    def chosen(text: Text, shape: Shape) -> Plain:
        return nested(text.rng.choice(values))

    return chosen


def _fraction(text: Text, shape: Shape) -> Plain:
    return number(text.rng.choice((0.0, 0.25, 0.5, 1.0)))


def _count(text: Text, shape: Shape) -> Plain:
    columns = _columns(shape)
    return nested(text.rng.choice((columns, columns, 8, 16, 32, shape[0] if shape else 4, 0)))


def _dtype(text: Text, shape: Shape) -> Plain:
    return dtype(text.rng.choice(DTYPES))


def _written(*texts: str) -> Callable[[Text, Shape], Plain]:
    """What a description has no use for."""

    def chosen(text: Text, shape: Shape) -> Plain:
        return Plain(text.rng.choice(texts), text)

    return chosen


#: parameters whose names say what they are
_NAMED: Final[Mapping[str, Callable[[Text, Shape], Plain]]] = {
    "axis": _axis,
    "axes": _axes,
    "shape": _shape,
    "pattern": _pattern,
    "shuffle_mask": _shuffle,
    "n": _count,
    "dtype": _dtype,
    "name": _written("'a'", "'b'"),
    "rate": _fraction,
    "prob": _fraction,
    "imm": _fraction,
    "fill_value": _fraction,
    "collective_dim": _any_of(0, 1),
    "replica_group": _any_of([[0]], [[0, 1]]),
    "source_target_pairs": _any_of([[0, 0]], [[0, 1], [1, 0]]),
    "cores": _any_of((0, 1), (0,)),
    "send_to_rank": _written("1 - nl.program_id(0)", "0", "1"),
    "recv_from_rank": _written("1 - nl.program_id(0)", "0", "1"),
    "pipe_id": _any_of(0, 1),
    "tile_position": _any_of((0, 0), (32, 0), (0, 64), ()),
    "tile_size": _any_of((128, 128), (32, 32), (64, 128), ()),
    "buffer": _written("nl.sbuf", "nl.sbuf", "nl.psum", "nl.shared_hbm", "'sbuf'"),
    "dst_rmw_op": _written("nl.add", "np.add", "None"),
    "function_name": _written("'f'"),
    "lib_file_name": _written("'f.so'"),
    "num_elem_per_idx": _any_of(1, 2, 4),
    "num_valid_indices": _any_of(1, 16, 32),
    "range_start": _any_of(0, 1, 5),
    "loop_indices": _written("[]"),
    "program_axes": _written("[0]"),
    "expr": _written("nl.arange(8)[None, :]", "nl.arange(4)[:, None] + nl.arange(8)[None, :]"),
    "pred": _written("nl.arange(4)[:, None] >= nl.arange(8)[None, :]"),
    # parameters that are no operands have registers for these names
    "dst": _written("nisa.register_alloc()", "nisa.register_alloc(0)"),
    "src": _written("nisa.register_alloc()", "nisa.register_alloc(3)"),
    "a": _written("nl.ndarray((nl.par_dim(4), 8), dtype=nl.float32, buffer=nl.sbuf)"),
    "x": _written("nl.ndarray((4, 8), dtype=nl.float32, buffer=nl.sbuf)"),
    "cmp_op": _written("nl.equal", "nl.greater_equal"),
}


def _within(text: Text, limit: Limit) -> int:
    """A number that a description admits, or one beside those."""
    least, most = limit.least or 0, limit.most if limit.most is not None else 64
    near = (limit.multiple_of, *limit.among, *limit.also, least, most)
    if text.slips():
        return text.rng.choice((least - 1, most + 1, *near))
    return text.rng.choice((*limit.among, *limit.also) or near)


def plain(
    text: Text, parameter: Parameter, shape: Shape, limit: Limit | None = None
) -> Plain | None:
    """The argument of a parameter that is no operand; None: it is left out.

    ``shape``: of the operands of the call. ``limit``: what its description says of it.
    """
    default = parameter.default
    if default is not None and not text.one(_GIVEN):
        return None
    known = _NAMED.get(parameter.name)
    if known is not None and not text.slips(0.3):
        return known(text, shape)
    if limit is not None:
        return number(_within(text, limit))
    kind = (default or "").partition(".")[0]
    if kind in names.ENUMS:
        if text.slips(0.3):
            kind = text.rng.choice(sorted(names.ENUMS))
        return member(kind, text.rng.choice(sorted(names.ENUMS[kind])))
    if default in ("True", "False"):
        return number(text.one(0.5))
    if default is None or default == "None" or text.slips(0.3):
        choices = (number(0), number(1), number(2), number(0.5), number(True), nested((1,)))
        return text.rng.choice(choices)
    return number(text.rng.choice((0, 1, 2))) if "." not in default else _fraction(text, shape)
