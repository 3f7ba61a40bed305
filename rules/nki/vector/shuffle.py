"""Exchange of the partitions of a quadrant."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki import kinds, kit
from rules.nki.kit import check, register
from rules.nki.operands.partitions import start_predicate
from rules.nki.samples import kernel
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation


def _sources(op: Operation, dst: View, src: View, lanes: int) -> Iterator[Check]:
    """Whether src has what each row of each quadrant of dst takes."""
    mask, limit = kit.integers(op.value("shuffle_mask")), kit.role(op, "shuffle_mask").value
    if mask is None or limit is None or len(mask) != lanes:
        return

    def there(row: int, entry: Expr) -> Bool:
        last = lanes * E.floordiv(dst.partitions - 1 - row, lanes)
        left = [E.eq(entry, code) for code in limit.also]
        return E.or_(*left, E.le(dst.partitions, row), E.lt(last + entry, src.partitions))

    yield check(
        op,
        "shuffle_mask",
        E.and_(*(there(row, entry) for row, entry in enumerate(mask))),
        "shuffle_mask names partitions of src",
        "a shuffle mask names a partition that src does not have",
        "SHF02",
        values=(("partitions of dst", dst.partitions), ("partitions of src", src.partitions)),
        about=("dst", "src"),
    )


def _shuffle(op: Operation, target: Target) -> Iterator[Check]:
    yield from _mask(op, target)
    dst, src = op.view("dst"), op.view("src")
    if dst is None or src is None:
        return
    lanes = target.quadrant
    yield from _sources(op, dst, src, lanes)
    yield check(
        op,
        "dst",
        E.eq(dst.free, src.free),
        "dst free size == src free size",
        "dst and src have different numbers of elements per partition",
        "SHF01",
        values=(("dst free size", dst.free), ("src free size", src.free)),
        about=("dst", "src"),
    )
    active = lanes * E.ceildiv(E.maximum(dst.partitions, src.partitions), lanes)
    for role, view in (("dst", dst), ("src", src)):
        yield from _start(op, role, view, active, target)


def _mask(op: Operation, target: Target) -> Iterator[Check]:
    mask, lanes = kit.integers(op.value("shuffle_mask")), target.quadrant
    limit = kit.role(op, "shuffle_mask").value
    if mask is None or limit is None:
        yield from kit.not_followed(op, "shuffle_mask", "SHF02")
        return
    yield check(
        op,
        "shuffle_mask",
        E.truth(len(mask) == lanes),
        f"shuffle_mask has {lanes} entries",
        f"a shuffle mask has one entry for each of {lanes} partitions",
        "SHF02",
        values=(("entries", E.const(len(mask))),),
        about=(),
    )
    left = " or ".join(map(str, limit.also))
    yield check(
        op,
        "shuffle_mask",
        E.and_(*map(limit.holds, mask)),
        f"entries of shuffle_mask are {limit.least} to {limit.most}, or {left}",
        "a shuffle mask names a partition outside its quadrant",
        limit.fact,
        about=(),
        help=(f"{left} leaves an output partition unchanged",),
    )


def _start(op: Operation, role: str, view: View, active: Expr, target: Target) -> Iterator[Check]:
    """Whole quadrants take part; where they may start depends on how many they are."""
    start, half, lanes = view.start_partition, target.partitions // 2, target.quadrant
    if start is None or not view.buffer.on_chip:
        return
    yield check(
        op,
        role,
        start_predicate(start, active, target),
        f"start partition of {role} is 0, or {half} with at most {half} active "
        f"partitions, or a multiple of {lanes} with {lanes}",
        f"{role} starts at a partition that a shuffle cannot start at",
        "P11",
        "SHF03",
        values=((f"start partition of {role}", start), ("active partitions", active)),
    )


register(
    Rule(
        id="shuffle-mask",
        code="NKI625",
        family="vector",
        summary="a stream shuffle permutes whole quadrants with a mask of 32 entries",
        reason=(
            "The shuffle unit works on quadrants of 32 partitions: the same 32 entries say for "
            "each of them which partition of the quadrant an output partition reads. Operands "
            "start where a quadrant does, and there is no path between quadrants."
        ),
        facts=("SHF01", "SHF02", "SHF03", "P11"),
        on=On.OPERATION,
        concerns=kinds.taking("shuffle_mask"),
        check=_shuffle,
        sources=("NKI ISA nc_stream_shuffle",),
        failing=kernel(
            "rotate",
            {"x": ((32, 70), "float32")},
            ((32, 70), "float32"),
            """
            mask = list(range(1, 33))
            nisa.nc_stream_shuffle(dst=result, src=x_tile, shuffle_mask=mask)
            """,
        ),
        passing=kernel(
            "rotate",
            {"x": ((32, 70), "float32")},
            ((32, 70), "float32"),
            """
            mask = list(range(1, 32)) + [0]
            nisa.nc_stream_shuffle(dst=result, src=x_tile, shuffle_mask=mask)
            """,
        ),
    )
)
