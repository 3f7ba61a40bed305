"""Errors of the compiler of Beta 1 by the names that it prints, and what to write instead.

Its documentation is gone with the generation; who looks a name up finds the rule that says the same
before the compiler does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from verifier.dialects.names import NKI


class OldError(Struct, frozen=True):
    """An error of Beta 1.

    ``name`` is its name in the documentation, ``fact`` its row of the catalogue, ``said`` what it
    says (``...`` stands for what depends on the kernel), ``instead`` what to write.
    """

    name: str
    fact: str
    said: tuple[str, ...]
    instead: str


def _errors() -> Iterator[OldError]:
    for number, (name, said, instead) in enumerate(_TABLE, 1):
        yield OldError(f"err_{name}", f"NKI-E{number:02d}", said, instead)


_TABLE: Final[tuple[tuple[str, tuple[str, ...], str], ...]] = (
    (
        "1d_arange_not_supported",
        ("with 1d arange is not supported",),
        "Give the index two dimensions, `nl.arange(n)[:, None]`, or write a slice.",
    ),
    (
        "activation_bias_invalid_type",
        ("bias parameter of activation",),
        "Make the bias a tile of float32, float16 or bfloat16.",
    ),
    (
        "activation_scale_invalid_type",
        ("scale parameter of activation",),
        "Make the scale a tile of float32, or a number.",
    ),
    (
        "activation_scale_scalar_or_vector",
        ("must be either a scalar value or a 1d vector",),
        "Make the scale a number, or a tile of shape (partitions of the data, 1).",
    ),
    (
        "ambiguous_tensor_truth_value",
        (
            "cannot evaluate truth value of a multi element tensor",
            "the truth value of an array with more than one element is ambiguous",
        ),
        "Combine tiles with `~`, `&` and `|`; ask `if b is not None` whether a tensor is given.",
    ),
    (
        "annotation_shape_mismatch",
        ("does not match the expected shape of",),
        "Correct the annotation, or the shape of the value.",
    ),
    (
        "bias_tensor_must_be_specified_in_allocation",
        ("bias argument must also be specified",),
        "Give `nisa.activation` a tile of zeros that is placed as `bias=`; write it for `nl.exp` "
        "and its like.",
    ),
    (
        "cannot_assign_to_index",
        ("tensor does not support item assignment",),
        "Make a tile of the index with `nisa.iota`, and assign to that.",
    ),
    (
        "cannot_update_immutable_parameter",
        ("cannot modify immutable parameter", "is immutable by default"),
        "Annotate the parameter as `nt.mutable_tensor` and return it, or return a tensor in "
        "shared_hbm.",
    ),
    (
        "control_flow_condition_depending_on_arange",
        ("control flow depending on nl arange or nl mgrid is not supported",),
        "Give the condition to the instructions as `mask=`.",
    ),
    (
        "copy_dynamic_indirect_indices_not_natively_supported",
        (),
        "Copy with `nisa.tensor_copy_dynamic_src` or `nisa.tensor_copy_dynamic_dst`.",
    ),
    (
        "dynamic_control_flow_not_supported",
        ("dynamic control flow depending on tensor value is",),
        "Compute both, and choose with `nl.where` or a mask.",
    ),
    (
        "exceed_max_supported_dimension",
        ("exceed max supported number of dimensions of",),
        "Reshape the tile, or take a part of it with fewer dimensions.",
    ),
    (
        "failed_to_infer_tile_from_local_tensor",
        ("failed to infer tile from tensor",),
        "Take one block at a time, `t[i]`: the partitions come first in a tile.",
    ),
    (
        "hbm_tensor_with_init_value_not_supported",
        ("creating hbm tensor with init value is not supported",),
        "Make the tensor with `nl.ndarray`, and store the value to it with `nl.store`.",
    ),
    (
        "indirect_indices_are_not_supported_with_nki_api",
        (),
        "Load the rows with `nl.load` or `nisa.dma_copy` first, which take such indices.",
    ),
    (
        "indirect_indices_free_dim",
        (),
        "Pick rows with a tile of shape [rows, 1] along the first dimension, and take the columns "
        "with `nl.arange(n)[None, :]`, not with `nl.mgrid`.",
    ),
    (
        "leading_dimension_of_tensor_must_be_partition",
        ("the leading dimension of sbuf psum tensors must be the partition dimension",),
        "Make the blocks a free dimension, or a Python list of tiles.",
    ),
    (
        "local_variable_used_out_of_scope",
        ("is referenced outside of its parent scope", "shadowing local tensor"),
        "Make the tile before the block, and assign to all of it there: `t[...] = ...`.",
    ),
    (
        "mutable_parameter_not_returned",
        ("mutable kernel parameter not returned by return statement",),
        "Return the parameter besides the other outputs.",
    ),
    (
        "nested_kernel_with_spmd_grid",
        ("inside another kernel is not supported",),
        "Call the kernel without a grid, in a loop if it is to run several times.",
    ),
    (
        "nki_api_outside_of_nki_kernel",
        ("calling nki api outside of nki kernels is not supported",),
        "Decorate the function with `nki.jit`, or move the call into a kernel.",
    ),
    (
        "num_partition_exceed_arch_limit",
        ("number of partitions ... exceed architecture limitation of 128",),
        "Split the first axis into tiles of at most 128 (`nl.tile_size.pmax`) rows.",
    ),
    (
        "num_partition_mismatch",
        ("number of partitions dimension 0 size of a tile mismatch in parameters",),
        "Give all operands the same number of partitions; `broadcast_to` repeats a row.",
    ),
    (
        "shared_hbm_must_in_kernel_level",
        ("shared hbm buffer can only be created top level kernel scope",),
        "Make the tensor at the top level of the kernel, and pass it on.",
    ),
    (
        "size_of_dimension_exceed_arch_limit",
        ("size of dimension ... exceed architecture limitation of",),
        "Split the tile: the Tensor Engine transposes up to 128 by 128.",
    ),
    (
        "store_dst_shape_smaller_than_other_shape",
        ("illegal assignment destination shape in ... is smaller than other parameter shapes",),
        "Make the destination as large as the source; only the source is repeated.",
    ),
    (
        "tensor_access_out_of_bound",
        ("out of bound access for tensor ... exceed dimension size of",),
        "Keep the indices inside the tensor, or leave out the rest with `mask=`.",
    ),
    (
        "tensor_creation_on_scratchpad_with_init_value_not_supported",
        ("creating sbuf psum tensor with init value is not supported in allocated",),
        "Make the tile with `nl.ndarray`, and assign the value to it.",
    ),
    (
        "tensor_output_not_written_to",
        (),
        "Store to all of the output on every path; `M // N` trips are none if N is larger.",
    ),
    (
        "transpose_on_tensor_engine_not_allowed_in_allocated_kernel",
        ("calling nc transpose with tensorengine is not allowed in allocated kernels",),
        "Ask for `engine=nisa.vector_engine`, or multiply by an identity matrix that is placed; "
        "give `nl.matmul` its first operand transposed.",
    ),
    (
        "unexpected_output_dependencies",
        ("different iterations of ... loop write to",),
        "Make the place that is written depend on the index, or use `nl.sequential_range`.",
    ),
    (
        "unsupported_expression_in_mask",
        (),
        "Compare sums of indices times constants, and join the comparisons by `&`.",
    ),
    (
        "unsupported_memory",
        ("to be in address space ... but got a tile in",),
        "Load what is in HBM first; store tiles with `nl.store`.",
    ),
    (
        "unsupported_mixing_basic_advanced_tensor_indexing",
        ("mixing basic tensor indexing and advanced tensor indexing is not supported",),
        "Write slices alone, or index arrays alone.",
    ),
    (
        "while_loop_requires_unconditional_entry",
        ("traditional while loops are not supported",),
        "Enter the loop on a constant, and compute the condition at the end of its body.",
    ),
)

ERRORS: Final = tuple(_errors())

#: what begins names of errors, and says nothing
_PREFIXES: Final = frozenset({"e", "err", "error", "errors", NKI})
#: a shorter text is in too many names
_SHORTEST: Final = 3


def look_up(text: str) -> tuple[OldError, ...]:
    """The errors that a name, a part of one or a message means; in any spelling.

    ``EOutOfBounds..``, ``err_tensor_access_out_of_bound``, ``err-tensor-access-...`` and ``Error:
    Out-of-bound access for tensor `x` ...`` are the same.
    """
    words = _words(text)
    exact = tuple(error for error in ERRORS if _words(error.name) == words)
    if exact:
        return exact
    asked = " ".join(_stem(word) for word in words)
    if len(asked) < _SHORTEST:
        return ()
    return tuple(error for error in ERRORS if _means(asked, error))


def _means(asked: str, error: OldError) -> bool:
    """Whether words are a part of the name or of a message, or contain a whole message."""
    said = [[_stemmed(part) for part in text.split("...")] for text in error.said]
    texts = (_stemmed(error.name), *(part for parts in said for part in parts))
    if any(f" {asked}" in f" {text}" for text in texts):
        return True
    return any(all(f" {part} " in f" {asked} " for part in parts) for parts in said)


def _stemmed(text: str) -> str:
    return " ".join(_stem(word) for word in _words(text))


def _words(text: str) -> tuple[str, ...]:
    """The words of a name in any spelling, in small letters, without what all names begin with."""
    text = re.sub(r"^E(?=[A-Z0-9])", "", text)  # EOutOfBounds
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", text)
    words = [word.lower() for word in re.findall(r"[A-Za-z0-9]+", spaced)]
    while words and words[0] in _PREFIXES:
        words.pop(0)
    return tuple(words)


def _stem(word: str) -> str:
    """A word without the ending of its plural."""
    return word.removesuffix("s") if len(word) > _SHORTEST else word
