"""Transpositions on the Tensor Engine, and on the Vector Engine."""

from __future__ import annotations

from collections.abc import Iterator

from rules.beta1 import TWINS
from rules.nki import kinds, kit
from rules.nki.kit import check, register
from rules.nki.operands.memories import PSUM, SBUF
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.trace import Operation


def _asked(op: Operation) -> Engine | None:
    """As :func:`kit.engine`, of a request that is heeded."""
    return kit.engine(op) if kit.described(op).engines.heeds(op) else Engine.UNKNOWN


def _transpose_engine(op: Operation) -> Engine | None:
    """The Tensor or the Vector Engine; None if the call leaves it open or it is not known."""
    named = _asked(op)
    if named in (Engine.TENSOR, Engine.VECTOR):
        return named
    data, dst = op.view("data"), op.view("dst")
    if named is not Engine.UNKNOWN or op.generation.fits_tiles or data is None or dst is None:
        return None
    # the Tensor Engine neither writes SBUF nor reads PSUM
    vector = dst.buffer is Buffer.SBUF or data.buffer is Buffer.PSUM
    return Engine.VECTOR if vector else None


def _transpose_shape(op: Operation, target: Target) -> Iterator[Check]:
    yield from kit.sized(op, "dst")


_TRANSPOSE = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def {name}(x):
    assert x.shape == ({p}, {f}) and x.dtype == nl.{dtype}
    out = nl.ndarray(({p2}, {f2}), dtype=nl.{dtype}, buffer=nl.shared_hbm)
    tile = nl.ndarray(({p}, {f}), dtype=nl.{dtype}, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    turned = nl.ndarray(({p2}, {f2}), dtype=nl.{turned}, buffer=nl.{buffer})
    nisa.nc_transpose(dst=turned, data=tile{engine})
    held = nl.ndarray(({p2}, {f2}), dtype=nl.{dtype}, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=turned)
    nisa.dma_copy(dst=out, src=held)
    return out
"""


def _transposing(
    name: str,
    shape: tuple[int, int],
    result: tuple[int, int],
    dtype: str = "bfloat16",
    turned: str = "bfloat16",
    buffer: str = "psum",
    engine: str = "",
) -> str:
    (p, f), (p2, f2) = shape, result
    chosen = f", engine=nisa.engine.{engine}" if engine else ""
    return _TRANSPOSE.format(
        name=name,
        p=p,
        f=f,
        p2=p2,
        f2=f2,
        dtype=dtype,
        turned=turned,
        buffer=buffer,
        engine=chosen,
    )


def _heeded(text: str) -> str:
    """An example for 0.4, from which on the engine that is asked for is taken (NKI-TRN07)."""
    return text.replace("src=x)", "src=x, priority=None)", 1)


register(
    Rule(
        id="transpose-shape",
        code="NKI214",
        family="matmul",
        summary="the destination of a transpose has the transposed shape",
        reason=(
            "A transposition turns the partition axis into the free axis: a tile of P partitions "
            "and F elements becomes one of F partitions and P elements, its free axes flattened."
        ),
        facts=("TRN01",),
        on=On.OPERATION,
        concerns=kinds.TRANSPOSES,
        check=_transpose_shape,
        sources=("NKI ISA nc_transpose, layout",),
        failing=_transposing("flip", (96, 40), (96, 40)),
        passing=_transposing("flip", (96, 40), (40, 96)),
    )
)


def _transpose_size(op: Operation, target: Target) -> Iterator[Check]:
    data = op.view("data")
    if data is None:
        return
    vector = _transpose_engine(op) is Engine.VECTOR and not op.generation.fits_tiles
    if vector:
        limit, fact = target.transpose_vector_max, "TRN03"
        message = "the Vector Engine transposes blocks of at most 32 by 32"
    else:
        limit, fact = target.stationary_free_max, "TRN02"
        message = "the tile is too large for one transpose"
    yield check(
        op,
        "data",
        E.and_(E.le(data.partitions, limit), E.le(data.free, limit)),
        f"partitions of data <= {limit} and data free size <= {limit}",
        message,
        fact,
        values=(("partitions of data", data.partitions), ("data free size", data.free)),
        help=("transpose on the Tensor Engine, from a tile in SBUF into one in PSUM",)
        if vector
        else (f"transpose blocks of {limit} by {limit}",),
    )


register(
    Rule(
        id="transpose-size",
        code="NKI215",
        family="matmul",
        summary="a transpose fits into its engine: 128 by 128, or 32 by 32 on the Vector Engine",
        reason=(
            "The Tensor Engine transposes by passing a tile through its array of 128 by 128. The "
            "Vector Engine exchanges rows and columns within blocks of 32 by 32. Which one runs "
            "depends on engine= and on where the tiles lie: the Tensor Engine neither writes SBUF "
            "nor reads PSUM. The "
            "compiler of Beta 1 makes several transpositions of what is larger than a block of the "
            "Vector Engine, up to 128 by 128."
        ),
        facts=("TRN02", "TRN03", "TRN07"),
        on=On.OPERATION,
        concerns=kinds.TRANSPOSES,
        check=_transpose_size,
        sources=("NKI ISA nc_transpose, tile size", "NKI 0.4 release notes"),
        twins=TWINS["transpose-size"],
        failing=_transposing("small_flip", (64, 48), (48, 64), buffer="sbuf", engine="vector"),
        passing=_transposing("small_flip", (32, 24), (24, 32), buffer="sbuf", engine="vector"),
    )
)


def _transpose_buffers(op: Operation, target: Target) -> Iterator[Check]:
    if op.generation.fits_tiles:
        return
    tensor = _asked(op) is Engine.TENSOR
    for role in ("data", "dst"):
        view = op.view(role)
        if view is None:
            continue
        allowed = (SBUF if role == "data" else PSUM) if tensor else (Buffer.SBUF, Buffer.PSUM)
        found = kit.buffer_check(
            op,
            role,
            view,
            allowed,
            f"{role} of a transpose cannot be in {kit.BUFFER_WORDS[view.buffer]}",
            *(("TRN04", "BUF03") if tensor else ("TRN05", "BUF04")),
        )
        if found is not None:
            yield found


register(
    Rule(
        id="transpose-buffers",
        code="NKI216",
        family="matmul",
        summary="a transpose on the Tensor Engine reads SBUF and writes PSUM",
        reason=(
            "On the Tensor Engine a transposition is a pass through the array, from SBUF to PSUM. "
            "The Vector Engine reads and writes either memory, but not HBM."
        ),
        facts=("TRN04", "TRN05", "BUF03", "BUF04"),
        on=On.OPERATION,
        concerns=kinds.TRANSPOSES,
        check=_transpose_buffers,
        sources=("NKI ISA nc_transpose, memory types",),
        failing=_heeded(_transposing("turn", (90, 70), (70, 90), buffer="sbuf", engine="tensor")),
        passing=_heeded(_transposing("turn", (90, 70), (70, 90), engine="tensor")),
    )
)


def _transpose_dtype(op: Operation, target: Target) -> Iterator[Check]:
    data, dst = op.view("data"), op.view("dst")
    if data is None or dst is None or op.generation.fits_tiles:
        return
    yield check(
        op,
        "dst",
        dst.dtype.same(data.dtype),
        f"dtype of dst == dtype of data (they are {kit.dtype_words(dst.dtype)} and "
        f"{kit.dtype_words(data.dtype)})",
        "a transpose does not convert: dst has another dtype than data",
        "TRN06",
        about=("dst", "data"),
        help=("give dst the dtype of data, and cast when copying it on",),
    )


register(
    Rule(
        id="transpose-dtype",
        code="NKI217",
        family="matmul",
        summary="a transpose keeps the element type",
        reason=(
            "A transposition moves bits. The destination has the element type of the data; a "
            "conversion is a separate copy."
        ),
        facts=("TRN06",),
        on=On.OPERATION,
        concerns=kinds.TRANSPOSES,
        check=_transpose_dtype,
        sources=("NKI ISA nc_transpose, data types",),
        failing=_transposing("cast_flip", (60, 20), (20, 60), turned="float32"),
        passing=_transposing("copy_flip", (60, 20), (20, 60), "float32", "float32"),
    )
)
