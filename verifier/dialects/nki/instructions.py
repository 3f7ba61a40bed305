"""What each device function reads, writes, runs on and returns: one line per function.

The same description serves every generation. A line is::

    name  engine  result  parameter:role ...

``engine`` is the engine without an ``engine=`` argument, or the one that an unknown engine resolves
to; ``?`` when it depends on the operands. ``result`` says what a value-returning generation returns
(see :mod:`verifier.dialects.nki.results`); ``-``: the function always takes its destination. Roles:

``out``      a tile or tensor that is written
``inout``    written in part: elements that are not written keep their value
``rmw``      read, then written at the same elements
``in``       a tile or tensor that is read
``vec``      a number or a tile that is read
``ins``      a list of tensors that are read; ``outs``: that are written

Parameters that are not named are carried along as they are (numbers, flags, enumerators);
``op``, ``op0`` ... are made operators.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ISA: Final = """
nc_matmul                 tensor  matmul      dst:out stationary:in moving:in
nc_matmul_mx              tensor  -           dst:out stationary:in moving:in stationary_scale:in \
moving_scale:in
nc_transpose              ?       transpose   dst:out data:in
activation                scalar  like:data   dst:out data:in bias:vec scale:vec reduce_res:out
activation_reduce         scalar  like:data   dst:out data:in bias:vec scale:vec reduce_res:out
activate2                 scalar  -           dst:out data:in imm0:vec imm1:vec reduce_res:out
tensor_tensor             ?       like:data1  dst:out data1:in data2:in
tensor_scalar             ?       like:data   dst:out data:in operand0:vec operand1:vec
scalar_tensor_tensor      vector  like:data   dst:out data:in operand0:vec operand1:in
tensor_reduce             vector  reduce:data dst:out data:in
tensor_tensor_scan        vector  like:data0  dst:out data0:in data1:in initial:vec
tensor_scalar_reduce      vector  like:data   dst:out data:in operand0:vec reduce_res:out \
reduce_init:vec
tensor_scalar_cumulative  vector  -           dst:out src:in imm0:vec imm1:vec
tensor_copy               ?       like:src    dst:out src:in
tensor_copy_dynamic_src   ?       like:src    dst:out src:in
tensor_copy_dynamic_dst   ?       -           dst:out src:in
tensor_copy_predicated    vector  -           dst:inout src:vec predicate:in
exponential               vector  -           dst:out src:in max_value:vec reduce_res:out \
reduce_init:vec
reciprocal                vector  like:data   dst:out data:in
quantize_mx               vector  -           dst:out src:in dst_scale:out
dropout                   vector  like:data   dst:out data:in prob:vec
range_select              vector  like:on_true_tile dst:out on_true_tile:in bound0:in bound1:in \
reduce_res:out
select_reduce             vector  -           dst:out predicate:in on_true:in on_false:vec \
reduce_res:out
bn_stats                  vector  columns:data:6 dst:out data:in
bn_aggr                   vector  columns:data:2 dst:out data:in
max8                      vector  columns:src:8 dst:out src:in
nc_find_index8            vector  columns:data:8:uint32 dst:out data:in vals:in
nc_match_replace8         vector  like:data   dst:out data:in vals:in dst_idx:out
nc_stream_shuffle         vector  -           dst:inout src:in
memset                    ?       new         dst:out
iota                      gpsimd  index:expr  dst:out
affine_select             gpsimd  like:on_true_tile dst:out on_true_tile:in
local_gather              gpsimd  gather      dst:out src_buffer:in index:in
nc_n_gather               gpsimd  -           dst:out data:in indices:in
sequence_bounds           gpsimd  bounds      dst:out segment_ids:in
tensor_partition_reduce   gpsimd  row:data    dst:out data:in
nonzero_with_count        gpsimd  -           dst:out src:in
topk                      gpsimd  -           val_dst:out idx_dst:out src:in
rng                       vector  -           dst:out
rand2                     vector  -           dst:out min:vec max:vec
rand_set_state            gpsimd  -           src_seeds:in
rand_get_state            gpsimd  -           dst:out
set_rng_seed              vector  -           src_seeds:in
dma_copy                  dma     -           dst:out src:in
dma_transpose             dma     transpose   dst:out src:in
dma_compute               dma     -           dst:out srcs:ins
core_barrier              gpsimd  -           data:sync
sendrecv                  dma     -           src:in dst:out
register_load             sync    -           src:in
register_store            sync    -           dst:out
builtin_custom_op         gpsimd  -           srcs:ins dsts:outs
"""

_COLLECTIVES: Final = """
all_reduce                          dma  -  srcs:ins dsts:outs
all_gather                          dma  -  srcs:ins dsts:outs
all_gather_v                        dma  -  srcs:ins dsts:outs metadata_tensor:in
all_to_all                          dma  -  srcs:ins dsts:outs
all_to_all_v                        dma  -  srcs:ins dsts:outs metadata_tensor:in
reduce_scatter                      dma  -  srcs:ins dsts:outs
collective_permute                  dma  -  srcs:ins dsts:outs
collective_permute_implicit         dma  -  srcs_by_channel:ins dsts_by_channel:outs
collective_permute_implicit_reduce  dma  -  srcs0_by_channel:ins srcs1_by_channel:ins \
dsts_by_channel:outs
"""

_LANGUAGE: Final = """
load                dma      like:src           dst:out src:in
store               dma      -                  dst:out value:in
load_transpose2d    dma      transpose_sbuf:src dst:out src:in
copy                vector   like:@first        dst:out src:in x:in
matmul              tensor   product            dst:out x:in y:in
transpose           tensor   transpose_psum:x   dst:out x:in
broadcast_to        ?        shape:@first       dst:out x:in src:in
where               vector   like:x+y+condition dst:out condition:in x:vec y:vec
dropout             vector   like:x             dst:out x:in rate:vec
softmax             ?        like:x             dst:out x:in
rms_norm            ?        like:x             dst:out x:in w:in
gather_flattened    gpsimd   gathered           dst:out data:in indices:in
atomic_rmw          dma      -                  dst:rmw value:in
all_reduce          ?        like:x             dst:out x:in
loop_reduce         ?        like:x             dst:out x:in
static_cast         vector   like:input_data    dst:out input_data:in
random_seed         vector   -                  seed:in
"""

_UNARY: Final = _words(
    "abs arctan ceil cos erf erf_dx exp floor gelu gelu_apprx_sigmoid gelu_apprx_sigmoid_dx "
    "gelu_apprx_tanh gelu_dx invert log logical_not mish negative reciprocal relu rsqrt sigmoid "
    "sign silu silu_dx sin softplus sqrt square tan tanh trunc"
)
_BINARY: Final = _words(
    "abs_max abs_min add bitwise_and bitwise_or bitwise_xor divide equal fmod greater "
    "greater_equal left_shift less less_equal logical_and logical_or logical_xor maximum minimum "
    "mod multiply not_equal power right_shift subtract"
)
_REDUCTIONS: Final = _words("all max mean min prod sum var")

#: results are booleans in Beta 1 (NKI-M075)
COMPARISONS: Final = _words(
    "equal not_equal greater greater_equal less less_equal "
    "logical_and logical_or logical_xor logical_not"
)

#: parameters that hold an operator
OPERATOR_PARAMETERS: Final[frozenset[str]] = frozenset(
    {"op", "op0", "op1", "reduce_op", "cmp_op", "comp_op0", "comp_op1", "dst_rmw_op"}
)

#: where elementwise functions of ``nki.language`` run; the others on the Scalar Engine (NKI-T16)
_VECTOR_UNARY: Final[frozenset[str]] = frozenset({"invert", "logical_not", "negative"})


@dataclass(frozen=True, slots=True)
class Instruction:
    """The description of one device function; ``roles`` maps parameters to roles."""

    name: str
    engine: str
    result: str
    roles: tuple[tuple[str, str], ...]

    def role(self, parameter: str) -> str:
        if parameter in OPERATOR_PARAMETERS:
            return "op"
        for name, role in self.roles:
            if name == parameter:
                return role
        return "const"

    @property
    def short(self) -> str:
        return self.name.rpartition(".")[2]


def _parse(namespace: str, text: str) -> dict[str, Instruction]:
    parsed: dict[str, Instruction] = {}
    for line in text.strip().splitlines():
        name, engine, result, *roles = line.split()
        pairs = tuple((p, r) for p, _, r in (role.partition(":") for role in roles))
        parsed[f"{namespace}.{name}"] = Instruction(f"{namespace}.{name}", engine, result, pairs)
    return parsed


@cache
def all_instructions() -> dict[str, Instruction]:
    """Every described function by canonical name."""
    found = {
        **_parse("isa", _ISA),
        **_parse("collectives", _COLLECTIVES),
        **_parse("language", _LANGUAGE),
    }
    for name in _UNARY:
        engine = "vector" if name in _VECTOR_UNARY else "scalar"
        found[f"language.{name}"] = Instruction(
            f"language.{name}", engine, "like:x", (("dst", "out"), ("x", "in"))
        )
    for name in _BINARY:
        engine = "gpsimd" if name == "power" else "vector"
        found[f"language.{name}"] = Instruction(
            f"language.{name}", engine, "like:x+y", (("dst", "out"), ("x", "vec"), ("y", "vec"))
        )
    for name in _REDUCTIONS:
        found[f"language.{name}"] = Instruction(
            f"language.{name}", "vector", "reduce:x", (("dst", "out"), ("x", "in"))
        )
    return found


def find(name: str) -> Instruction | None:
    return all_instructions().get(name)
