"""The canonical text of a contract: reading it gives the same contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from verifier.configuration import contracts as tree

_PRECEDENCE: Final[Mapping[str, int]] = {"+": 1, "-": 1, "*": 2, "//": 2, "%": 2}


def text_of(contract: tree.Contract) -> str:
    """The contract on one line."""
    grid = f"[{', '.join(number(size) for size in contract.grid)}]" if contract.grid else ""
    inner = [_parameter(p) for p in contract.parameters]
    if contract.defaults:
        inner.append("...")
    text = f"{contract.kernel or ''}{grid}({', '.join(inner)})"
    if contract.targets:
        text += f" on {', '.join(contract.targets)}"
    if contract.conditions:
        text += " where " + ", ".join(condition(c, 1) for c in contract.conditions)
    return text


def _parameter(parameter: tree.Parameter) -> str:
    if isinstance(parameter.spec, tree.DefaultSpec):
        return f"{parameter.name}=default"
    return f"{parameter.name}: {spec(parameter.spec)}"


def number(size: tree.Size, precedence: int = 0) -> str:
    """The text of an integer, with the fewest parentheses that keep its structure."""
    if isinstance(size, tree.Anything):
        return "_"
    if isinstance(size, tree.Int):
        return str(size.value)
    if isinstance(size, tree.Name):
        return size.id
    if isinstance(size, tree.Extent):
        return f"{size.tensor}.shape[{size.axis}]"
    if isinstance(size, tree.ItemSize):
        return f"{size.tensor}.dtype.itemsize"
    if isinstance(size, tree.Programs):
        return f"num_programs({size.axis})"
    if isinstance(size, tree.Negate):
        return f"-{number(size.operand, 3)}"
    if isinstance(size, tree.Extreme):
        return f"{size.function}({', '.join(number(arg) for arg in size.args)})"
    if isinstance(size, tree.Either):
        return f"({number(size.then, 1)} if {condition(size.test, 0)} else {number(size.other, 1)})"
    own = _PRECEDENCE[size.op]
    text = f"{number(size.left, own)} {size.op} {number(size.right, own + 1)}"
    return f"({text})" if own < precedence else text


def condition(said: tree.Condition, needed: int = 0) -> str:
    """The text of a condition; ``needed``: 0 anything, 1 inside ``and``, 2 under ``not``."""
    if isinstance(said, tree.Comparison):
        words = [number(said.operands[0], 1)]
        for op, operand in zip(said.ops, said.operands[1:], strict=True):
            words += [op, number(operand, 1)]
        text, strength = " ".join(words), 1
    elif isinstance(said, tree.OfDType):
        several = len(said.dtypes) != 1
        named = f"({', '.join(said.dtypes)})" if several else said.dtypes[0]
        among = "in" if several else "=="
        if said.negated:
            among = "not in" if several else "!="
        text, strength = f"{said.tensor}.dtype {among} {named}", 1
    elif isinstance(said, tree.SameDType):
        text = f"{said.first}.dtype {'!=' if said.negated else '=='} {said.second}.dtype"
        strength = 1
    elif isinstance(said, tree.Absent):
        text, strength = f"{said.path} is {'not ' if said.negated else ''}None", 1
    elif isinstance(said, tree.Flag):
        return said.path
    elif isinstance(said, tree.Alike):
        equals = "!=" if said.negated else "=="
        text, strength = f"({condition(said.first)}) {equals} ({condition(said.second)})", 1
    elif isinstance(said, tree.Not):
        text, strength = f"not {condition(said.condition, 2)}", 1
    else:
        own = 1 if said.kind == "and" else 0
        inner = f" {said.kind} ".join(condition(part, 2 if own else 1) for part in said.parts)
        return f"({inner})" if needed > 0 else inner
    return f"({text})" if strength < needed else text


def spec(said: tree.Spec) -> str:
    """The text of what is said of an input."""
    if isinstance(said, tree.TensorSpec):
        dtypes = said.dtypes[0] if len(said.dtypes) == 1 else f"{{{', '.join(said.dtypes)}}}"
        sizes = "..." if said.shape is None else ", ".join(number(size) for size in said.shape)
        return f"{dtypes if said.dtypes else '_'}[{sizes}]"
    if isinstance(said, tree.RangeSpec):
        return f"{number(said.lower, 1)}..{number(said.upper, 1)}"
    if isinstance(said, tree.IntSpec):
        return number(said.value)
    if isinstance(said, (tree.FloatSpec, tree.StringSpec, tree.LiteralSpec)):
        return repr(said.value)
    if isinstance(said, tree.KindSpec):
        return said.kind
    if isinstance(said, tree.SequenceSpec):
        inner = ", ".join(spec(element) for element in said.elements)
        if said.kind == "list":
            return f"[{inner}]"
        return f"({inner},)" if len(said.elements) == 1 else f"({inner})"
    if isinstance(said, tree.NamedSpec):
        return ".".join(said.path)
    if isinstance(said, tree.ObjectSpec):
        given = [spec(argument) for argument in said.arguments]
        given += [f"{item.name}={spec(item.spec)}" for item in said.keywords]
        return f"{'.'.join(said.path)}({', '.join(given)})"
    if isinstance(said, tree.ChoiceSpec):
        return f"{{{', '.join(spec(option) for option in said.options)}}}"
    return "default" if isinstance(said, tree.DefaultSpec) else "_"
