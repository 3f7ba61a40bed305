"""What a contract says of an input beside what the kernel's text says: its annotation, its default.

A contract writes an element type alone for a tensor of it, for the type itself, and for a number of
it; a parameter that is annotated as a number, or is one by default, is no tensor.
"""

from __future__ import annotations

from typing import Final

from verifier.hardware import dtypes as dt
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python import tied
from verifier.symbolic.python.inputs import Parameter, if_given, is_text
from verifier.symbolic.python.pins import (
    ChoicePin,
    ContractMismatchError,
    FlagPin,
    IntegerPin,
    Pin,
    RangePin,
    TensorPin,
    TypePin,
    ValuePin,
)

#: the dtype that is called as Python's type of truth values is
TRUTHS: Final = "bool_"
_SCALARS: Final = ("bool", "int", "float")
#: what is no tensor, whichever value it has
_NUMBERS: Final = (IntegerPin, RangePin, FlagPin, TypePin)


def settled(p: Parameter) -> Pin | None:
    """What a contract says of an input, as the kernel's text lets it mean.

    Raises:
        ContractMismatchError: they contradict each other.
    """
    pin = p.pinned
    if isinstance(pin, _NUMBERS) and tied.annotated_tensor(p):
        raise _contradiction(p, "no tensor")
    tensor = pin.tensor if isinstance(pin, ChoicePin) else pin
    if not isinstance(tensor, TensorPin):
        return pin
    said = _said(p)
    kind = said or _of_default(p)
    found = None if tensor.shape is not None else _number(kind, tensor)
    if isinstance(found, FlagPin) and isinstance(pin, ChoicePin):
        return ChoicePin((*pin.options, ValuePin(True), ValuePin(False)))
    if found is not None and not isinstance(pin, ChoicePin):
        return found
    named = said == "constexpr" and tensor.shape is None and not isinstance(pin, ChoicePin)
    if said and not named:
        raise _contradiction(p, _listed(tensor))
    return pin


def address(p: Parameter) -> None:
    """An input that is the address of a tensor is no number.

    Raises:
        ContractMismatchError: a contract says that it is one.
    """
    if isinstance(p.pinned, _NUMBERS):
        raise _contradiction(p, "no address")


def _contradiction(p: Parameter, meant: str) -> ContractMismatchError:
    text = f"`{p.name}` is annotated as `{p.annotation}`, and the contract makes it {meant}"
    return ContractMismatchError(text)


def _listed(tensor: TensorPin) -> str:
    if tensor.shape is not None or not tensor.dtypes:
        return "a tensor"
    return " or ".join(f"`{name}`" for name in tensor.dtypes)


def _said(p: Parameter) -> str:
    """The type of Python's that an annotation says; ``constexpr``: some value that is no tensor."""
    bare = if_given(p.annotation)
    if bare in _SCALARS:
        return bare
    if is_text(p.annotation):
        return "str"
    return "constexpr" if p.constant else ""


def _of_default(p: Parameter) -> str:
    """The type of Python's that the default is of."""
    if not p.has_default:
        return ""
    if isinstance(p.default, (bool, Bool)):
        return "bool"
    return "int" if isinstance(p.default, Expr) else "float" if isinstance(p.default, float) else ""


def _number(kind: str, tensor: TensorPin) -> Pin | None:
    """Any value of a type of Python's whose numbers are of the element type."""
    dtypes = tensor.dtypes
    if len(dtypes) > 1:
        return None  # one of several dtypes is one of these, and no number
    whole = bool(dtypes) and ("int" in dtypes[0] or dtypes[0] == TRUTHS)
    if kind in ("bool", "int", "constexpr") and dtypes == (TRUTHS,):
        return FlagPin()
    if kind == "int" and (whole or not dtypes):
        return IntegerPin()
    if kind == "float" and not any(dt.DTYPES[name][1] == "packed" for name in dtypes):
        return TypePin("float")
    return None
