"""Kernels by number: of every instruction, in every generation, on every target.

The drawing knows the form of descriptions, not the instructions: one that is added is drawn too.
"""

from __future__ import annotations

import random
from functools import cache

from tests.differential.contents import held, stored
from tests.differential.kernels import Kernel, Text, Tile
from tests.differential.operands import Call, drawn, extents, shown
from tests.differential.plain import DTYPES
from verifier.dialects.names import NKI
from verifier.dialects.nki.signatures import lookup
from verifier.dialects.nki.versions import GENERATIONS
from verifier.dialects.registry import DIALECTS, instructions
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import TARGETS
from verifier.symbolic.instruction import Instruction

#: the dialects for whose kernels text is drawn
DRAWN = (NKI,)

_MODULES = {"isa": "nisa", "language": "nl", "collectives": "ncc"}
_IN_PLACE = ("", "", "", "+", "-", "*", "/")
#: how bold a kernel is: how often what is drawn does not fit
_BOLDNESS = (0.0, 0.0, 0.0, 0.0, 0.03, 0.06, 0.1, 0.25)


@cache
def subjects() -> tuple[tuple[Instruction, str], ...]:
    """Every instruction in every generation that has it.

    What has no signature is written as an assignment, which every generation has.
    """
    return tuple(
        (instruction, api)
        for instruction in instructions(DRAWN)
        for api in GENERATIONS
        if not instruction.signatures or lookup(instruction.name, api) is not None
    )


def undrawn() -> tuple[str, ...]:
    """Dialects for whose kernels no text is drawn."""
    return tuple(sorted(set(DIALECTS) - set(DRAWN)))


def numbered(number: int) -> Kernel:
    """The kernel of a number: always the same."""
    rng = random.Random(f"drawn {number}")
    instruction, api = subjects()[number % len(subjects())]
    if rng.random() < 0.02:
        api = rng.choice(GENERATIONS)
    target = TARGETS[rng.choice(("trn1", "trn2", "trn2", "trn3", "trn3"))]
    text = Text(
        rng, api, boldness=rng.choice(_BOLDNESS), naming=rng.choice((0.0, 0.0, 0.0, 0.0, 0.9))
    )
    called = [instruction.name]
    shape, other = extents(text)
    _statement(text, _call(text, instruction, target.name, shape, other))
    while text.one(0.3) and len(called) < 3:
        following, _ = rng.choice([pair for pair in subjects() if pair[1] == api])
        called.append(following.name)
        _statement(text, _call(text, following, target.name, shape, other))
    for tile in dict.fromkeys([*text.written, *text.tiles]):
        if text.one(0.95 if tile in text.written else 0.1):
            stored(text, tile)
    if text.returned:
        # a name that is assigned on one path only, or twice, is returned once
        text.add(f"return {', '.join(dict.fromkeys(text.returned))}")
    grid = (2,) if any("program_id" in line for line in text.lines) else ()
    inputs = tuple(text.inputs.items())
    return Kernel(api, target.name, tuple(text.lines), inputs, grid, tuple(called), text.naming > 0)


def _call(
    text: Text, instruction: Instruction, target: str, shape: tuple[int, ...], other: int
) -> Call | tuple[Instruction, Tile, str]:
    """A call with its arguments; of what has no signature, what it is assigned to."""
    signature = lookup(instruction.name, text.api)
    if not instruction.signatures:
        return _assignment(text, instruction, shape)
    if signature is None:  # of another generation: it is an error there
        having = next(a for i, a in subjects() if i is instruction)
        signature = lookup(instruction.name, having)
        assert signature is not None
    call = Call(text, instruction, signature, TARGETS[target], shape, other)
    drawn(call)
    return call


def _assignment(
    text: Text, instruction: Instruction, shape: tuple[int, ...]
) -> tuple[Instruction, Tile, str]:
    """``tile[...] = value``, of a tile or of a number."""
    operator = text.rng.choice(_IN_PLACE)
    dtype, buffer = text.rng.choice(DTYPES), text.rng.choice(("sbuf", "sbuf", "psum"))
    tile = held(text, buffer, dtype, shape, read=bool(operator), write=True)
    text.tiles.append(tile)
    text.written.append(tile)
    value = text.rng.choice(("0", "1.0", "2"))
    role = instruction.role("value")
    assert role is not None
    if instruction.footprint.reads_of("value"):
        value = held(text, "sbuf", dtype, shape, read=True, write=False).text
    return instruction, tile, f"{operator}= {value}"


def _statement(text: Text, call: Call | tuple[Instruction, Tile, str]) -> None:
    if isinstance(call, tuple):
        _, tile, rest = call
        place = tile.text if "[" in tile.text else f"{tile.text}[...]"
        text.add(f"{place} {rest}")
        return
    module, _, name = call.instruction.name.rpartition(".")
    function = f"{_MODULES[module]}.{name}"
    arguments = shown(call.arguments)
    positional: list[str] = []
    listed = call.signature.positional
    if text.one(0.25):
        for parameter in listed[: text.rng.randint(0, 3)]:
            if parameter.name not in arguments:
                break
            positional.append(arguments.pop(parameter.name))
    if text.slips(0.2):
        _spoil(text, arguments)
    written = ", ".join([*positional, *(f"{n}={value}" for n, value in arguments.items())])
    gives = "dst" not in call.signature.names and any(
        write.role == "dst" for write in call.instruction.footprint.writes
    )
    if not gives:
        text.add(f"{function}({written})")
        return
    result = text.name("r")
    text.add(f"{result} = {function}({written})")
    made = call.made
    tile = Tile(result, "sbuf", "float32", ())
    if made is not None:
        shape = tuple(size.const for size in made.shape)
        buffer = "psum" if made.buffer is Buffer.PSUM else "sbuf"
        tile = Tile(result, buffer, made.dtype.name or "float32", shape)
    text.tiles.append(tile)
    text.written.append(tile)


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
