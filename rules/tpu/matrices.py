"""Matrices: their width in channels, the lane they start in, and their rows in system memory."""

from __future__ import annotations

from collections.abc import Iterator

from rules.tpu import kit
from rules.tpu.examples import pair
from rules.tpu.kit import check, function
from rules.tpu.runs import lane_of
from verifier.dialects.names import OKK
from verifier.hardware.chips import Chip
from verifier.hardware.engines import Engine
from verifier.rulebase import On, Rule, register
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.trace import Operation


def _moves(instruction: Instruction) -> bool:
    """Whether it is a transfer of a matrix."""
    return instruction.engines.default is Engine.GDMA and kit.has_matrices(instruction)


def _moves_rows(instruction: Instruction) -> bool:
    """Whether it writes the rows of a matrix in system memory."""
    return _moves(instruction) and any(
        role.placed.layout == "rows" and instruction.footprint.writes_of(role.name)
        for role in instruction.roles
        if role.placed
    )


def _width(op: Operation, chip: Chip) -> Iterator[Check]:
    transfer = kit.transfers(op)
    for columns_role in ("cols",) if transfer else ("left_cols", "right_cols"):
        role = f"{columns_role}_per_channel"
        columns, width = kit.number(op, columns_role), kit.number(op, role)
        if columns is None or width is None:
            continue
        values = ((columns_role, columns), (role, width))
        if transfer:
            predicate = E.and_(E.ge(width, 1), E.le(width, columns))
            text, fact = f"1 <= {role} <= {columns_role}", "OKK-G02"
        else:
            least = E.minimum(columns, chip.columns_max)
            predicate = E.and_(E.ge(width, 1), E.le(width, least))
            text, fact = f"1 <= {role} <= min({chip.columns_max}, {columns_role})", "OKK-Q03"
        yield check(
            op,
            role,
            predicate,
            text,
            f"the width of a channel of a matrix of `{function(op)}` is out of range",
            fact,
            "LAY-M",
            values=values,
            help=("min(columns, 32) is a width that suits most matrices",),
            # the functional behaviour is right: the manual alone forbids it
            severity="warning" if transfer else None,
        )


_WIDTH = pair(
    "product",
    "columns: int, a: okk.SystemAddr, b: okk.SystemAddr, y: okk.SystemAddr",
    """\
assert 1 <= columns <= 512
okk.initialize()
width = @@
okk.gdma_32bit_matrix_S2L(0, a, 6, 40, 20, 40)
okk.gdma_32bit_matrix_S2L(65536, b, 40, columns, width, columns)
okk.bdc_matmul(131072, 0, 65536, 0, 6, 40, columns, 20, width, False, False)
okk.gdma_32bit_matrix_L2S(y, 131072, 6, columns, width, columns)
okk.poll()
""",
    "32",
    "min(columns, 32)",
)

register(
    Rule(
        id="okk-matrix-width",
        code="OKK211",
        family=OKK,
        summary="a channel of a matrix has between 1 and min(128, columns) columns",
        silent=True,
        reason=(
            "A matrix lies in local memory as channels of some columns each. The manual admits 1 "
            "to 128 of them, and no more than the matrix has."
        ),
        facts=("OKK-Q03", "OKK-G02", "OKK-G01", "LAY-M", "INC-18"),
        on=On.OPERATION,
        concerns=kit.has_matrices,
        check=_width,
        dialects=(OKK,),
        sources=("OKKernel manual, fp32_nn", "OKKernel manual, layout"),
        failing=_WIDTH[0],
        passing=_WIDTH[1],
    )
)


def _matrix_lane(op: Operation, chip: Chip) -> Iterator[Check]:
    role, tensor = next(((t.role, tensor) for t, tensor in kit.local(op)), ("", None))
    columns, width = kit.number(op, "cols"), kit.number(op, "cols_per_channel")
    rows = kit.number(op, "rows")
    if tensor is None or columns is None or width is None or rows is None:
        return
    channels = E.ceildiv(columns, width)
    lane = lane_of(chip, tensor)
    here = kit.slots(chip, lane, channels)
    there = kit.slots(chip, E.const(0), channels)
    yield check(
        op,
        role,
        E.or_(E.eq(here, there), E.le(rows, 1)),
        "channels per lane are those of a matrix that starts in lane 0",
        f"`{function(op)}` places the rows of this matrix as if it started in lane 0",
        "OKK-G07",
        "INC-25",
        given=(E.ge(width, 1),),
        values=(
            ("start lane", lane),
            ("channels", channels),
            ("channels per lane", here),
            ("channels per lane that it counts with", there),
        ),
        help=("start the matrix in lane 0, or where its channels end before the last lane",),
    )


_MATRIX_LANE = pair(
    "moved",
    "x: okk.SystemAddr, y: okk.SystemAddr",
    """\
okk.initialize()
start = @@ * okk.local_mem_size_per_npu()
okk.gdma_32bit_matrix_S2L(start, x, 7, 100, 25, 100)
okk.bdc_mul_C(start, start, 3.0, okk.dim4(7, 4, 1, 25), None, None)
okk.gdma_32bit_matrix_L2S(y, start, 7, 100, 25, 100)
okk.poll()
""",
    "62",
    "60",
)

register(
    Rule(
        id="okk-matrix-lane",
        code="OKK212",
        family=OKK,
        summary="a matrix that is transferred starts where its channels do not wrap once more",
        silent=True,
        reason=(
            "Matrix transfers compute the distance of two rows without the start lane, compute "
            "functions with it. Where the start lane makes the channels wrap once more, the rows "
            "of one are not those of the other."
        ),
        facts=("OKK-G07", "INC-25"),
        on=On.OPERATION,
        concerns=_moves,
        check=_matrix_lane,
        dialects=(OKK,),
        sources=("measured on the functional behaviour of BM1684",),
        failing=_MATRIX_LANE[0],
        passing=_MATRIX_LANE[1],
    )
)


def _rows(op: Operation, chip: Chip) -> Iterator[Check]:
    pitch, columns = kit.number(op, "row_stride"), kit.number(op, "cols")
    rows = kit.number(op, "rows")
    if pitch is None or columns is None or rows is None:
        return
    yield check(
        op,
        "row_stride",
        E.or_(E.ge(pitch, columns), E.le(rows, 1)),
        "row_stride >= cols",
        f"the rows of the matrix that `{function(op)}` writes overlap",
        "OKK-G03",
        values=(("row_stride", pitch), ("cols", columns)),
        help=("row_stride counts the elements from one row to the next in system memory",),
    )


_ROWS = pair(
    "narrow",
    "x: okk.SystemAddr, y: okk.SystemAddr",
    """\
okk.initialize()
okk.gdma_32bit_matrix_S2L(0, x, 11, 30, 10, 50)
okk.gdma_32bit_matrix_L2S(y, 0, 11, 30, 10, @@)
okk.poll()
""",
    "10",
    "30",
)

register(
    Rule(
        id="okk-matrix-rows",
        code="OKK213",
        family=OKK,
        summary="the rows of a matrix that is stored do not overlap",
        silent=True,
        reason=(
            "row_stride is the distance of two rows in system memory, in elements: less than the "
            "columns, and each row overwrites the end of the one before."
        ),
        facts=("OKK-G03",),
        on=On.OPERATION,
        concerns=_moves_rows,
        check=_rows,
        dialects=(OKK,),
        sources=("OKKernel manual, gdma",),
        failing=_ROWS[0],
        passing=_ROWS[1],
    )
)
