"""The rules of tilelint, a family per module. :func:`load` registers them all."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping

from verifier.dialects.names import OKK, PPL

#: Every family of rules and what it is about.
FAMILIES: Mapping[str, str] = {
    "operands": "Partitions, access patterns and memories of operands",
    "views": "Bounds of slices, indices, access patterns and reshapes",
    "allocation": "Extent, rank, size, banks and placement of tiles",
    "matmul": "Shapes, sizes, memories and dtypes of the Tensor Engine",
    "elementwise": "Operands of the Vector, Scalar and GpSimd Engines: equal shapes, broadcasts",
    "vector": "Shapes of reductions, statistics, searches, shuffles and quantisation",
    "operators": "Operators, engines and features that an instruction or a target has",
    "gpsimd": "Index patterns and gathers of the GpSimd Engine",
    "random": "States of random number generators",
    "sync": "Registers, barriers, messages between cores, collectives",
    "dma": "Transfers: element counts, memories, types, descriptors, transposition",
    "dtypes": "Element types that an instruction or a target supports",
    "api": "Names and signatures of the API generation",
    "migration": "What a later generation of the API does not take as it is (`--migrate-to`)",
    "memory": "Initialisation, outputs, tails, dependences, accumulation, capacity, overlap",
    OKK: "OKK (BM1684): extents, alignment, start NPUs, strides, windows, matrices, packed "
    "types, overlap of live tensors, races in parallel sections, stores",
    PPL: "PPL (BM1684X and later): blocks and views, cores, capacity with pipelined buffers, "
    "dtypes per chip, windows, products, transfers, and Python that the front end compiles to "
    "something else",
    "host": "Python that dies or misleads while the kernel is traced",
    "advice": "What would be faster or more precise; off unless `--select advice` asks for it",
    "precondition": "What a kernel demands of its inputs without saying so",
    "suppression": "Comments that take findings back: unused, unknown, blanket, without a reason",
}


#: modules with examples alone, which nobody needs in order to judge a kernel
_EXAMPLES = f"{__name__}.rows"


def load() -> None:
    """Import every module of this package; each registers its rules when imported."""
    for info in pkgutil.walk_packages(__path__, prefix=f"{__name__}."):
        if not info.name.startswith(_EXAMPLES):
            importlib.import_module(info.name)
