"""What gives meaning to the names and calls of kernel APIs, a package per dialect.

To load this package is to have sources searched for kernels of these dialects; what interprets them
is in :mod:`.registry`, which costs more.
"""

from __future__ import annotations

from typing import Final

from verifier.dialects.names import NKI, OKK, PPL
from verifier.source.apis import KernelApi, register

_NKI_WRAPPERS: Final = frozenset(
    {
        "jit",
        "nki_jit",
        "baremetal",
        "benchmark",
        "profile",
        "trace",
        "simulate",
        "simulate_kernel",
    }
)

_NKI_PACKAGES: Final = ("nki", "neuronxcc.nki")
_NKI_MODULES: Final = ("", ".language", ".isa", ".typing", ".collectives", ".compiler")

#: how kernels are told (NKI-M042 and the like)
NKI_API: Final = KernelApi(
    dialect=NKI,
    wrappers={
        "nki": _NKI_WRAPPERS,
        "neuronxcc": _NKI_WRAPPERS,
        # `torch_neuronx.trace` and its like compile whole models
        "torch_neuronx": frozenset({"nki_jit"}),
        "jax_neuronx": frozenset({"nki_jit", "nki_call"}),
    },
    modules=frozenset(
        {"neuronxcc", *(package + part for package in _NKI_PACKAGES for part in _NKI_MODULES)}
    ),
    frameworks=frozenset({"torch_neuronx", "jax_neuronx"}),
    companions=frozenset({"neuronx_distributed"}),
    shorthands={
        "nki": "nki",
        "nl": "nki.language",
        "nisa": "nki.isa",
        "nt": "nki.typing",
        "par_dim": "nki.language.par_dim",
    },
    # of NKI 0.2, as what ran on trn2 shows (aws-neuron/nkipy, tests/unit/test_nki.py)
    provided={name: f"nki.<built in>.{name}" for name in ("hbm", "psum", "sbuf")},
    words=(b"nki", b"jit"),
)
PPL_API: Final = KernelApi(
    dialect=PPL,
    wrappers={"ppl": frozenset({"jit"})},
    modules=frozenset({"ppl", "ppl.language"}),
    shorthands={"ppl": "ppl", "pl": "ppl.language"},
    words=(b"jit",),  # `apply` contains the name of the package
)
OKK_API: Final = KernelApi(
    dialect=OKK,
    wrappers={"okk": frozenset({"kernel", "jit"})},
    modules=frozenset({"okk"}),
    shorthands={"okk": "okk"},
    words=(b"okk",),
    typed=True,
)

APIS: Final = (NKI_API, PPL_API, OKK_API)

register(APIS)
