"""Names of the TPU dialects that are no calls of the dialect: how kernels are made and launched."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, Final

from verifier.dialects.names import OKK, PPL
from verifier.dialects.okk import isa, names, records
from verifier.executor.session import Kernel, active
from verifier.executor.tiles import call_of
from verifier.symbolic.values import ApiRef

Special = Callable[[ApiRef, tuple[Any, ...], dict[str, Any]], Any]

#: generations of names that are of a TPU dialect
GENERATIONS: Final = (OKK, PPL)


def special(ref: ApiRef) -> Special:
    """What a call of that name does: what a table says, or what the dialect does."""
    return _SPECIAL.get((ref.generation, ref.name), straight)


def straight(ref: ApiRef, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A call as the dialect has it, each time anew: addresses are among the arguments."""
    machine = active().current()
    call = call_of(machine, ref.name.rpartition(".")[2], args, keywords)
    return machine.outward(machine.dialect.call(machine, ref, call))


def _okk_kernel(ref: ApiRef, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """``@okk.kernel``, ``@okk.kernel(Params)``, ``@okk.kernel()``."""
    if args and isinstance(args[0], type):
        structure = args[0]
        return lambda function: Kernel(function, structure)
    if args and callable(args[0]):
        return Kernel(args[0], structure_of(args[0]))
    return lambda function: Kernel(function, structure_of(function))


def structure_of(function: Callable[..., Any]) -> type | None:
    """The class of a kernel's only parameter, whose fields are its inputs; None if it has none."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    if len(parameters) != 1:
        return None
    annotation = parameters[0].annotation
    if isinstance(annotation, str):
        annotation = getattr(function, "__globals__", {}).get(annotation.strip("'\""))
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return annotation
    return None


def _ppl_jit(ref: ApiRef, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """``@ppl.jit``, ``@ppl.jit(tiling=f, ...)``: block sizes are given by the caller here."""
    if args and callable(args[0]):
        return Kernel(args[0])
    return Kernel


def exported(ref: ApiRef) -> list[str]:
    """What ``from module import *`` binds: for OKK all names as C spells them, and the types."""
    if ref.generation != OKK:
        return []
    found = {*isa.all_names(), *records.RECORDS, *records.UNIONS, *records.CHOICES}
    found |= {*names.CONSTANTS, "OP_TYPE", "MUL_TYPE", "OKKERNEL_ASSERT", "OKKERNEL_LOG", "NULL"}
    found |= {"SystemAddr", "kernel", "jit", "parallel"}
    return sorted(found)


_SPECIAL: Final[dict[tuple[str, str], Special]] = {
    (OKK, "kernel"): _okk_kernel,
    (OKK, "jit"): _okk_kernel,
    (PPL, "jit"): _ppl_jit,
}
