"""The text of a call, and of the name that its result is given."""

from __future__ import annotations

from collections.abc import Callable

from tests.differential.kernels import Shape, Text, Tile
from tests.differential.operands import Call, drawn, shown
from verifier.hardware.catalogue import Hardware
from verifier.symbolic.instruction import Instruction


def called(
    text: Text,
    instruction: Instruction,
    target: Hardware,
    shape: Shape,
    other: int,
    *,
    left_out: str = "",
    fits: Callable[[Call], None] | None = None,
) -> None:
    """Draw the operands of an instruction, and write its call: see :class:`Call`."""
    signature = text.signature(instruction)
    assert signature is not None
    call = Call(text, instruction, signature, target, shape, other, left_out=left_out, fits=fits)
    drawn(call)
    statement(call, shown(call.arguments))


def statement(call: Call, arguments: dict[str, str]) -> None:
    """The call with these arguments: by place and by name, at times not those that it takes."""
    text = call.text
    function = text.spoken(call.instruction)
    positional: list[str] = []
    listed = [p for p in call.signature.positional if p.name != call.left_out]
    if text.one(0.25) or call.left_out:
        for parameter in listed[: text.rng.randint(0, 3)]:
            if parameter.name not in arguments:
                break
            positional.append(arguments.pop(parameter.name))
    text.masked(call.shapes, call.arguments, arguments, call.signature)
    if text.slips(0.2):
        _spoil(text, arguments)
    written = ", ".join([*positional, *(f"{n}={value}" for n, value in arguments.items())])
    if not _gives(call):
        text.add(f"{text.round(0.04)}{function}({written})")
        return
    result = text.name("r")
    text.add(f"{result} = {function}({written})")
    made = call.made
    home = text.home.value
    tile = Tile(result, home, "float32", ())
    if made is not None:
        shape = tuple(size.const for size in made.shape)
        buffer = made.buffer.value if made.buffer.value in text.on_chip else home
        tile = Tile(result, buffer, made.dtype.name or "float32", shape)
    text.tiles.append(tile)
    text.written.append(tile)


def _gives(call: Call) -> bool:
    """Whether the call gives back what it makes."""
    if call.left_out:
        return True
    return "dst" not in call.signature.names and any(
        write.role == "dst" for write in call.instruction.footprint.writes
    )


def _spoil(text: Text, arguments: dict[str, str]) -> None:
    """An argument that is missing, unknown, or in the place of another."""
    names = list(arguments)
    how = text.rng.randrange(3)
    if how == 0 and names:
        del arguments[text.rng.choice(names)]
    elif how == 1:
        arguments[text.rng.choice(("dtype", "mask", "speed", "engine"))] = "None"
    elif len(names) > 1:
        first, second = text.rng.sample(names, 2)
        arguments[first], arguments[second] = arguments[second], arguments[first]
