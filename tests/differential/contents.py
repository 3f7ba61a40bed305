"""What tiles of NKI hold before an instruction takes them, and what becomes of them after it."""

from __future__ import annotations

from tests.differential.kernels import Shape, Tile
from tests.differential.nki_tensors import Tensors
from verifier.hardware import dtypes as dt


def held(text: Tensors, buffer: str, dtype: str, shape: Shape, *, read: bool, write: bool) -> Tile:
    """An operand in a memory, with something in it if it is read."""
    if buffer not in text.on_chip:
        if not write:
            return Tile(text.parameter(dtype, shape), "hbm", dtype, shape)
        name = text.allocated(buffer, dtype, shape)
        text.returned.append(name)
        if read:
            fill(text, Tile(name, buffer, dtype, shape))
        return Tile(name, buffer, dtype, shape)
    tile = _part_of_larger(text, buffer, dtype, shape) if text.one(0.12) else None
    if tile is None:
        tile = Tile(text.allocated(buffer, dtype, shape), buffer, dtype, shape)
    if read or text.one(0.1):
        fill(text, tile)
    return tile


def _part_of_larger(text: Tensors, buffer: str, dtype: str, shape: Shape) -> Tile | None:
    """A tile that is a part of another one: further down, further right, or in steps."""
    if len(shape) != 2:
        return None
    rng = text.rng
    rows, columns = shape
    down = rng.choice((0, 0, 32, 64, 96, 1, 16)) if text.slips() or rows <= 32 else 0
    right, step = rng.choice((0, 1, 3)), rng.choice((1, 1, 2))
    if rows + down > 128 or (down and down % 32 and not text.slips()):
        down = 0
    whole = text.allocated(buffer, dtype, (rows + down, right + columns * step))
    first = f"{down}:{down + rows}"
    second = f"{right}:{right + columns * step}" + (f":{step}" if step > 1 else "")
    return Tile(f"{whole}[{first}, {second}]", buffer, dtype, shape)


def fill(text: Tensors, tile: Tile) -> None:
    """Write a tile: as a rule all of it, at times a part, or nothing."""
    rng = text.rng
    if text.slips():
        if text.one(0.4):
            return
        part = _part(text, tile)
        if part is not None:
            _write(text, *part)
            if text.one(0.5):
                return
            if text.one(0.3):
                _write(text, tile, tile.shape)
            return
    if text.one(0.06) and _in_rounds(text, tile):
        return
    if text.one(0.08):
        halves = _halves(text, tile)
        if halves:
            rng.shuffle(halves)
            for half in halves:
                _write(text, *half)
            return
    _write(text, tile, tile.shape)


def _part(text: Tensors, tile: Tile) -> tuple[Tile, Shape] | None:
    """A part of a tile: fewer rows or columns."""
    axis = text.rng.randrange(len(tile.shape)) if tile.shape else 0
    if "[" in tile.text or not tile.shape or tile.shape[axis] < 2:
        return None
    extent = tile.shape[axis]
    until = text.rng.choice((1, extent // 2, extent - 1))
    return _sliced(tile, axis, 0, until)


def _halves(text: Tensors, tile: Tile) -> list[tuple[Tile, Shape]]:
    axis = text.rng.randrange(len(tile.shape)) if tile.shape else 0
    if "[" in tile.text or not tile.shape or tile.shape[axis] < 2:
        return []
    extent = tile.shape[axis]
    middle = 32 if axis == 0 and extent > 32 else extent // 2
    if axis == 0 and extent <= 32:
        return []
    return [_sliced(tile, axis, 0, middle), _sliced(tile, axis, middle, extent)]


def _in_rounds(text: Tensors, tile: Tile) -> bool:
    """Write a tile part by part in a loop, at times in a trip less."""
    if "[" in tile.text or len(tile.shape) != 2 or tile.buffer != "sbuf":
        return False
    rows, columns = tile.shape
    count = text.rng.choice((2, 3, 4))
    if columns % count:
        return False
    given = text.parameter(tile.dtype, tile.shape)
    step, index = columns // count, text.name("k")
    start = f"{index} * {step}"
    if text.api == "beta1":
        part = f"[0:{rows}, nl.ds({start}, {step})]"
        work = f"{tile.text}{part} = nl.load({given}{part})"
    else:
        part = f"[0:{rows}, {start}:{start} + {step}]"
        work = f"nisa.dma_copy(dst={tile.text}{part}, src={given}{part})"
    trips = count - 1 if text.slips() else count
    text.add(f"for {index} in {text.rng.choice(text.ranges)}({trips}): {work}")
    return True


def _sliced(tile: Tile, axis: int, begin: int, end: int) -> tuple[Tile, Shape]:
    bounds = [f"0:{n}" if k != axis else f"{begin}:{end}" for k, n in enumerate(tile.shape)]
    shape = tuple(n if k != axis else end - begin for k, n in enumerate(tile.shape))
    text = f"{tile.text}[{', '.join(bounds)}]"
    return Tile(text, tile.buffer, tile.dtype, shape), shape


def _write(text: Tensors, tile: Tile, shape: Shape) -> None:
    """Numbers into a tile: out of an input, one number everywhere, or out of another tile."""
    beta1 = text.api == "beta1"
    floating = dt.DTYPES[tile.dtype][1] in ("float", "int")
    if tile.buffer == "sbuf" and text.one(0.7):
        given = text.parameter(tile.dtype, shape)
        if beta1:
            text.add(f"{_assigned(tile)} = nl.load({given})")
        else:
            text.add(f"nisa.dma_copy(dst={tile.text}, src={given})")
        return
    if tile.buffer in text.on_chip and ((floating and text.one(0.6)) or beta1):
        number = text.rng.choice(("0", "1", "2"))
        if beta1:
            text.add(f"{_assigned(tile)} = {number}")
        else:
            text.add(f"nisa.memset(dst={tile.text}, value={number})")
        return
    source = text.allocated("sbuf", tile.dtype, shape)
    given = text.parameter(tile.dtype, shape)
    if beta1:
        text.add(f"{source}[...] = nl.load({given})")
        text.add(f"nl.store({tile.text}, {source})")
        return
    text.add(f"nisa.dma_copy(dst={source}, src={given})")
    copy = "tensor_copy" if tile.buffer in text.on_chip else "dma_copy"
    text.add(f"nisa.{copy}(dst={tile.text}, src={source})")


def _assigned(tile: Tile) -> str:
    return tile.text if "[" in tile.text else f"{tile.text}[...]"


def stored(text: Tensors, tile: Tile) -> None:
    """Bring a tile to where its numbers are seen: all of it, a part, or not at all."""
    if tile.buffer not in text.on_chip or text.one(0.05):
        return
    if "[" in tile.text and text.one(0.1):
        tile = Tile(tile.text.partition("[")[0], tile.buffer, tile.dtype, ())
    source, shape = tile.text, text.shape(tile.shape) if tile.shape else f"{tile.text}.shape"
    if tile.shape and text.one(0.15):
        part = _part(text, tile)
        if part is not None:
            source = part[0].text
            shape = text.shape(part[1]) if not text.slips() else shape
    beta1 = text.api == "beta1"
    if tile.buffer == "psum" and not beta1 and not text.slips():
        copy = text.name("t")
        text.add(f"{copy} = nl.ndarray({shape}, dtype=nl.{tile.dtype}, buffer=nl.sbuf)")
        text.add(f"nisa.tensor_copy(dst={copy}, src={source})")
        source = copy
    out = text.name("out")
    text.add(f"{out} = nl.ndarray({shape}, dtype=nl.{tile.dtype}, buffer=nl.shared_hbm)")
    if beta1:
        text.add(f"nl.store({out}, {source})")
    else:
        text.add(f"nisa.dma_copy(dst={out}, src={source})")
    text.returned.append(out)
