"""Functions that are no instructions: what makes tensors, ranges and places, and what is outside.

A text is that of one generation and of all after it, until the next; None: gone from there on.
Sources: the headings of catalogue section (c) and the version differences of section (h).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: what the front end of 0.2 has without an import
_MADE: Final = {"0.2": "|, shape*, dtype*", "0.3": None}

SIGNATURES: Final[Mapping[str, Mapping[str, str | None]]] = {
    "<built in>.hbm.view": _MADE,
    "<built in>.psum.view": _MADE,
    "<built in>.sbuf.view": _MADE,
    "baremetal": {
        "beta1": "kernel=None, **",
        "0.2": None,
    },
    "benchmark": {
        "beta1": "kernel=None, **",
        "0.2": None,
    },
    "collectives.collective_permute_implicit_current_processing_rank_id": {
        "0.2": "iteration_id*, replica_group*, channel_id=0, num_channels=1",
        "0.3": "iteration_id*, replica_group*, channel_id=0",
        "0.5": "iteration_id*, replica_group*, channel_id=0, name=None",
    },
    "collectives.rank_id": {
        "0.2": "",
        "0.5": "name=None",
    },
    "compiler.allocation_scope": {
        "beta1": "",
        "0.2": None,
    },
    "compiler.enable_stack_allocator": {
        "beta1": "func=None, log_level=50",
        "0.2": None,
    },
    "compiler.force_auto_alloc": {
        "beta1": "func=None",
        "0.2": None,
    },
    "compiler.multi_buffer": {
        "beta1": "factor=2",
        "0.2": None,
    },
    "compiler.no_reorder": {
        "beta1": "",
        "0.2": None,
    },
    "compiler.psum.alloc": {
        "beta1": "func*",
        "0.2": None,
    },
    "compiler.psum.auto_alloc": {
        "beta1": "",
        "0.2": None,
    },
    "compiler.psum.mod_alloc": {
        "beta1": (
            "|, base_bank*, base_addr=0, base_partition=0, num_bank_tiles=(), "
            "num_par_tiles=(), num_free_tiles=()"
        ),
        "0.2": None,
    },
    "compiler.sbuf.alloc": {
        "beta1": "func*",
        "0.2": None,
    },
    "compiler.sbuf.auto_alloc": {
        "beta1": "",
        "0.2": None,
    },
    "compiler.sbuf.mod_alloc": {
        "beta1": "|, base_addr*, base_partition=0, num_par_tiles=(), num_free_tiles=()",
        "0.2": None,
    },
    "compiler.skip_middle_end_transformations": {
        "beta1": "func=None",
        "0.2": None,
    },
    "isa.get_nc_sub_version": {"0.5": ""},
    "isa.get_nc_version": {"beta1": ""},
    "isa.register_alloc": {"0.2": "x=None"},
    "isa.register_move": {
        "0.2": "dst*, imm*",
        "0.3": "dst*, src*",
    },
    "jit": {
        "beta1": "func=None, mode='auto', **",
        "0.4": "fn=None, **",
    },
    "language.affine_range": {
        "beta1": "start*, stop=None, step=1, **",
        "0.2": "start*, stop=None, step=1",
    },
    "language.arange": {
        "beta1": "start*, stop=None, step=1",
        "0.2": None,
    },
    "language.device_print": {
        "beta1": "prefix*, x*, |, mask=None, **",
        "0.2": "print_prefix*, tensor*",
    },
    "language.ds": {"beta1": "start*, size*"},
    "language.dynamic_range": {"0.3": "start*, stop=None, step=1"},
    "language.empty_like": {
        "beta1": "a*, dtype=None, |, buffer=None, name='', **",
        "0.2": None,
        "0.3": "x*, dtype=None, buffer=None, name=''",
    },
    "language.expand_dims": {
        "beta1": "data*, axis*",
        "0.2": None,
        "0.3": "x*, axis*",
    },
    "language.finfo": {
        "beta1": "dtype*",
        "0.2": None,
    },
    "language.fori_loop": {"0.6": "lower*, upper*, body_fun*, step=1"},
    "language.gemm_grid": {
        "beta1": "",
        "0.2": None,
    },
    "language.gemm_stationary_grid": {
        "beta1": "",
        "0.2": None,
    },
    "language.is_hbm": {"0.3": "buffer*"},
    "language.is_on_chip": {"0.3": "buffer*"},
    "language.is_psum": {"0.3": "buffer*"},
    "language.is_sbuf": {"0.3": "buffer*"},
    "language.nc": {
        "beta1": "value*",
        "0.2": None,
    },
    "language.ndarray": {
        "beta1": "shape*, dtype*, |, buffer=None, name='', **",
        "0.2": "shape*, dtype*, buffer=None, name=''",
        "0.3": "shape*, dtype*, buffer=buffer.sbuf, name='', address=None",
    },
    "language.no_reorder": {"0.2": ""},
    "language.num_programs": {
        "beta1": "axes=None",
        "0.3": "axes=0",
    },
    "language.par_dim": {
        "beta1": "size*",
        "0.3": None,
    },
    "language.program_id": {
        "beta1": "axis*",
        "0.3": "axis=0",
    },
    "language.program_ndim": {"beta1": ""},
    "language.sequential_range": {
        "beta1": "start*, stop=None, step=1, **",
        "0.2": "start*, stop=None, step=1",
    },
    "language.shared_constant": {
        "beta1": "constant*, dtype=None, **",
        "0.2": "constant*, dtype=None",
        "0.3": "constant*",
    },
    "language.spmd_dim": {
        "beta1": "value*, nc=None",
        "0.2": None,
    },
    "language.static_range": {"beta1": "start*, stop=None, step=1"},
    "language.while_loop": {"0.6": "init*, body_fun*"},
    "profile": {
        "beta1": "kernel=None, **",
        "0.2": None,
    },
    "simulate": {"0.3": "kernel*"},
    "simulate_kernel": {
        "beta1": "kernel*, *, **",
        "0.2": None,
    },
    "trace": {
        "beta1": "func=None, mode='auto', **",
        "0.2": None,
    },
}

#: functions that went without a word of their own
REMOVAL: Final = ("NKI-M024",)

_INDICES: Final = "write a slice (`t[a:b]`), `nl.ds(start, size)` or `.ap(...)`"

_RUN: Final = "make the kernel with `nki.jit` and call it; `nki.simulate` runs it without a device"
_SPMD: Final = "launch on the cores of a chip, `kernel[n](...)`, and loop over the rest of the grid"

#: what to write instead of a function, or of all functions of a namespace, that is gone, and the
#: facts of that
GONE: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "language.arange": (_INDICES, ("NKI-M005", "NKI-X73")),
    "language.mgrid": (_INDICES, ("NKI-M005", "NKI-X73")),
    "language.par_dim": ("make the partition dimension the first of the shape", ("NKI-M006",)),
    "<built in>": ("write `nl.ndarray(shape, dtype=..., buffer=nl.sbuf)`", REMOVAL),
    "compiler.no_reorder": ("write `with nl.no_reorder():`", ("NKI-M023",)),
    "compiler.sbuf.auto_alloc": ("write `nl.sbuf`: the compiler places the tile", ("NKI-M023",)),
    "compiler.psum.auto_alloc": ("write `nl.psum`: the compiler places the tile", ("NKI-M023",)),
    **dict.fromkeys(
        (
            "compiler.enable_stack_allocator",
            "compiler.force_auto_alloc",
            "compiler.skip_middle_end_transformations",
        ),
        ("remove it: kernels do not say how they are compiled", ("NKI-M023",)),
    ),
    "compiler": ("place tensors with `address=` of `nl.ndarray`", ("NKI-M023",)),
    "baremetal": (_RUN, ("NKI-M022",)),
    "benchmark": (_RUN, ("NKI-M022",)),
    "profile": (_RUN, ("NKI-M022",)),
    "simulate_kernel": ("write `nki.simulate(kernel)(...)`, from NKI 0.3 on", ("NKI-M022",)),
    "trace": ("call the function as it is, without a decorator", ("NKI-M028",)),
    "language.finfo": ("write the number", ("NKI-M021",)),
    "language.gemm_grid": (_SPMD, ("NKI-M025",)),
    "language.gemm_stationary_grid": (_SPMD, ("NKI-M025",)),
    "language.nc": (_SPMD, ("NKI-M025",)),
    "language.spmd_dim": (_SPMD, ("NKI-M025", "NKI-M041")),
}

#: what is documented of single parameters, those among them that a function does not have
PARAMETERS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("isa.nc_transpose", "accumulate"): ("NKI-TRN09",),
    ("isa.nc_stream_shuffle", "dst"): ("NKI-SHF06",),
    ("isa.dma_copy", "dst_rmw_op"): ("NKI-DCP10", "NKI-OLD04"),
    ("isa.dma_copy", "unique_indices"): ("NKI-DCP10",),
    ("collectives.collective_permute_implicit_current_processing_rank_id", "num_channels"): (
        "NKI-K11",
    ),
}

#: names that a generation has for a while only: since when, what to write, and the facts of that
DEPRECATED: Final[Mapping[str, Mapping[str, tuple[str, tuple[str, ...]]]]] = {
    "language.affine_range": {
        "0.3": ("language.static_range", ("NKI-M083",)),
        "0.6": ("range", ("NKI-M083", "NKI-M137")),
    },
    "language.sequential_range": {
        "0.3": ("language.static_range", ("NKI-M083",)),
        "0.6": ("range", ("NKI-M083", "NKI-M137")),
    },
    "language.static_range": {"0.6": ("range", ("NKI-M137",))},
    "language.dynamic_range": {"0.6": ("language.fori_loop", ("NKI-M130", "NKI-LP05"))},
    "language.tile_size.psum_fmax": {
        "0.4": ("language.tile_size.psum_bank_fmax", ("NKI-M093",)),
    },
    "language.tile_size.total_available_sbuf_size": {
        "0.4": ("language.tile_size.sbuf_fmax_bytes", ("NKI-M093",)),
    },
}
