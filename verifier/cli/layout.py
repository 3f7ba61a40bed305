"""``tilelint layout``."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from verifier.cli.output import Refusal, did_you_mean

if TYPE_CHECKING:
    from verifier.hardware.chips import Chip
    from verifier.layouts.arrangement import Arrangement
    from verifier.layouts.suggestion import Suggestion

_FORMATS = ("text", "svg", "json")


@click.command("layout")
@click.option(
    "--chip", "chip_name", required=True, metavar="NAME", help="A TPU: bm1684, bm1684x, ..."
)
@click.option("--npus", type=int, metavar="N", help="Draw this many NPUs instead of the chip's.")
@click.option("--shape", required=True, metavar="N,C,H,W", help="Of the tensor; of a matrix: N,M.")
@click.option("--dtype", default="fp32", show_default=True, metavar="TYPE", help="Of the elements.")
@click.option(
    "--layout",
    metavar="NAME",
    help="aligned (default), compact, row-aligned, matrix, vector, 4n, 2n, 2ic, 64ic, 32ic, gic, "
    "continuous, or free (default with --strides).",
)
@click.option("--strides", metavar="N,C,H,W", help="Explicit strides, in elements.")
@click.option("--width", type=int, metavar="W", help="Columns to a channel of a matrix or vector.")
@click.option("--start-npu", type=int, metavar="Q", help="The NPU of channel 0 (default: 0).")
@click.option("--address", metavar="A", help="Local address instead: NPU * bytes per NPU + offset.")
@click.option("--suggest", is_flag=True, help="Choose the width and a start NPU with least waste.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(_FORMATS),
    default="text",
    show_default=True,
    help="How to draw it.",
)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), metavar="FILE", help="Write to a file."
)
def command(
    chip_name: str,
    npus: int | None,
    shape: str,
    dtype: str,
    layout: str | None,
    strides: str | None,
    width: int | None,
    start_npu: int | None,
    address: str | None,
    suggest: bool,
    format_: str,
    output: str | None,
) -> None:
    """Draw a tensor in a TPU's memory, with its strides and what it wastes.

    A block is 4 bytes, labelled with the elements n,c,h,w in it. Example:

    tilelint layout --chip bm1684 --npus 4 --shape 2,3,4,5 --layout aligned --start-npu 2
    """
    from verifier.layouts.arrangement import NAMES, LayoutError, arrange, canonical

    chip = _chip(chip_name, npus)
    name = (layout or ("aligned" if strides is None else "free")).lower()
    if canonical(name) is None:
        known = ", ".join(NAMES)
        hint = did_you_mean(name, NAMES) or f": there are {known}"
        raise Refusal(f"unknown layout '{layout}'{hint}")
    choices: dict[str, Any] = {
        "start_lane": start_npu,
        "address": None if address is None else _number("--address", address),
        "strides": None if strides is None else _numbers("--strides", strides),
        "width": width,
    }
    sizes = _numbers("--shape", shape)
    suggestion = None
    try:
        if suggest:
            from verifier.layouts.suggestion import suggest as choose

            suggestion = choose(chip, name, sizes, dtype, **choices)
            arrangement = suggestion.best
        else:
            arrangement = arrange(chip, name, sizes, dtype, **choices)
    except LayoutError as error:
        raise Refusal(str(error)) from None
    if output is not None:
        _save(Path(output), _drawn(arrangement, suggestion, format_))
    elif format_ == "text":
        _print(arrangement, suggestion)
    else:
        click.echo(_drawn(arrangement, suggestion, format_), nl=False)


def _chip(name: str, npus: int | None) -> Chip:
    from verifier.hardware.catalogue import NAMES
    from verifier.hardware.chips import CHIPS, find

    chip = find(name.lower())
    if chip is None:
        known = ", ".join(CHIPS)
        if name.lower() in NAMES:
            raise Refusal(f"{name} is no TPU: the chips are {known}")
        hint = did_you_mean(name, CHIPS) or f": the chips are {known}"
        raise Refusal(f"unknown chip '{name}'{hint}")
    if npus is None:
        return chip
    if not 1 <= npus <= chip.lanes:
        raise Refusal(f"--npus {npus} is not in 1 to {chip.lanes}, the NPUs of {chip.name}")
    return replace(chip, lanes=npus)


def _number(option: str, text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise Refusal(f"{option} is a number, not '{text}'") from None


def _numbers(option: str, text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.strip().strip("()[]").split(",")]
    if not all(part.lstrip("-").isdecimal() for part in parts):
        raise Refusal(f"{option} is numbers with commas between them, not '{text}'")
    return tuple(int(part) for part in parts)


def _extra(suggestion: Suggestion | None) -> tuple[tuple[str, str], ...]:
    return (("suggested", suggestion.text),) if suggestion is not None else ()


def _drawn(arrangement: Arrangement, suggestion: Suggestion | None, format_: str) -> str:
    """What goes to a file or a pipe."""
    if format_ == "svg":
        from verifier.layouts.svg import render

        return render(arrangement, extra=_extra(suggestion))
    if format_ == "json":
        return json.dumps(_document(arrangement, suggestion), indent=2) + "\n"
    from verifier.layouts.text import render as lines
    from verifier.report.text import Options, write

    options = Options()
    text = io.StringIO()
    drawn = lines(arrangement, width=options.width, unicode=True, extra=_extra(suggestion))
    write(drawn, text, options)
    return text.getvalue()


def _document(arrangement: Arrangement, suggestion: Suggestion | None) -> dict[str, Any]:
    from verifier.layouts.document import document

    found = document(arrangement)
    found["suggestion"] = None
    if suggestion is not None:
        asked = suggestion.asked
        found["suggestion"] = {
            "width": suggestion.width,
            "start_npu": suggestion.best.start_lane,
            "last_start_npu": suggestion.last_lane,
            "bytes_per_npu": suggestion.best.bytes_per_lane,
            "bytes_per_npu_as_asked": None if asked is None else asked.bytes_per_lane,
        }
    return found


def _print(arrangement: Arrangement, suggestion: Suggestion | None) -> None:
    from verifier.layouts.text import render
    from verifier.report.text import UNICODE, Options, write

    options = Options.for_stream(sys.stdout, version="")
    unicode = options.glyphs is UNICODE
    lines = render(arrangement, width=options.width, unicode=unicode, extra=_extra(suggestion))
    write(lines, sys.stdout, options)


def _save(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Refusal(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from None
