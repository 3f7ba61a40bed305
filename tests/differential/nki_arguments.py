"""What parameters of NKI are given whose names say what they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.differential.kernels import Plain, Shape, Text
from tests.differential.plain import any_of, dtype, fraction, nested, written


def _axis(text: Text, shape: Shape) -> Plain:
    rank = max(2, len(shape))
    if text.slips():
        return nested(text.rng.choice((0, rank, -rank, (0, 1), (rank - 1, 1), -1 - rank)))
    if rank > 2 and text.one(0.5):
        return nested(text.rng.choice((tuple(range(1, rank)), (rank - 1,))))
    return nested(text.rng.choice((rank - 1, -1, (rank - 1,))))


def _shape(text: Text, shape: Shape) -> Plain:
    extents = ", ".join(map(text.size, shape))
    return Plain(f"({extents}{',' if len(shape) == 1 else ''})", nested(tuple(shape)).value)


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


def _count(text: Text, shape: Shape) -> Plain:
    columns = _columns(shape)
    return nested(text.rng.choice((columns, columns, 8, 16, 32, shape[0] if shape else 4, 0)))


#: parameters whose names say what they are
NAMED: Final[Mapping[str, Callable[[Text, Shape], Plain]]] = {
    "axis": _axis,
    "axes": _axes,
    "shape": _shape,
    "pattern": _pattern,
    "shuffle_mask": _shuffle,
    "n": _count,
    "dtype": dtype,
    "name": written("'a'", "'b'"),
    "rate": fraction,
    "prob": fraction,
    "imm": fraction,
    "fill_value": fraction,
    "collective_dim": any_of(0, 1),
    "replica_group": any_of([[0]], [[0, 1]]),
    "source_target_pairs": any_of([[0, 0]], [[0, 1], [1, 0]]),
    "cores": any_of((0, 1), (0,)),
    "send_to_rank": written("1 - nl.program_id(0)", "0", "1"),
    "recv_from_rank": written("1 - nl.program_id(0)", "0", "1"),
    "pipe_id": any_of(0, 1),
    "tile_position": any_of((0, 0), (32, 0), (0, 64), ()),
    "tile_size": any_of((128, 128), (32, 32), (64, 128), ()),
    "buffer": written("nl.sbuf", "nl.sbuf", "nl.psum", "nl.shared_hbm", "'sbuf'"),
    "dst_rmw_op": written("nl.add", "np.add", "None"),
    "function_name": written("'f'"),
    "lib_file_name": written("'f.so'"),
    "num_elem_per_idx": any_of(1, 2, 4),
    "num_valid_indices": any_of(1, 16, 32),
    "range_start": any_of(0, 1, 5),
    "loop_indices": written("[]"),
    "program_axes": written("[0]"),
    "expr": written("nl.arange(8)[None, :]", "nl.arange(4)[:, None] + nl.arange(8)[None, :]"),
    "pred": written("nl.arange(4)[:, None] >= nl.arange(8)[None, :]"),
    # parameters that are no operands have registers for these names
    "dst": written("nisa.register_alloc()", "nisa.register_alloc(0)"),
    "src": written("nisa.register_alloc()", "nisa.register_alloc(3)"),
    "a": written("nl.ndarray((nl.par_dim(4), 8), dtype=nl.float32, buffer=nl.sbuf)"),
    "x": written("nl.ndarray((4, 8), dtype=nl.float32, buffer=nl.sbuf)"),
    "cmp_op": written("nl.equal", "nl.greater_equal"),
}
