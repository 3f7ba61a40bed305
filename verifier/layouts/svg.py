"""The picture as an SVG file: self-contained, for light and dark pages."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Final
from xml.etree import ElementTree as ET

from verifier.layouts.arrangement import Arrangement
from verifier.layouts.facts import facts, notes, title
from verifier.layouts.picture import BLOCK, Block, Gap, Picture, Row, draw, natural_widths

_LINES: Final = 48
_LANES: Final = 8
_ACROSS: Final = 8
#: neighbouring lines without an element that become a gap
_FOLD: Final = 6

#: in pixels
_WIDE: Final = 1400  # of all lanes
_CELL: Final = 46  # of a block, at least
_MARGIN: Final = 20
_TEXT: Final = 18  # a line of facts
_LETTER: Final = 6.3  # of a label, wide
_LABEL: Final = 13  # a line of a label
_GUTTER: Final = 22  # between NPUs
_JUMP: Final = 26  # where NPUs are left out
_SWATCH: Final = 22

#: fills of channels, two shades each for odd and even batches: on light pages, on dark pages
_HUES: Final = (
    ("#cfe3ff", "#a9ccfb", "#1d3b66", "#2a5490"),
    ("#d3f0d9", "#abdfb8", "#1d4a2b", "#2a683d"),
    ("#ffe6c7", "#fbcf98", "#573810", "#7a5019"),
    ("#e8dcfb", "#d2bbf3", "#402a66", "#5a3c8c"),
    ("#fbdbe6", "#f3b5ca", "#5c2139", "#813051"),
    ("#cdeeee", "#9fdcdc", "#144a4d", "#1f686c"),
)

#: class -> (attributes on light pages, style on dark pages)
_PAINTS: Final = {
    "page": ({"fill": "#ffffff"}, "fill:#0d1117"),
    "ink": ({"fill": "#1f2328"}, "fill:#e6edf3"),
    "faint": ({"fill": "#636c76"}, "fill:#9198a1"),
    "edge": ({"fill": "none", "stroke": "#6e7781"}, "stroke:#7d8590"),
    "padding": ({"fill": "url(#hatch)"}, ""),
    "hatch": ({"fill": "#f3f4f6"}, "fill:#1c222b"),
    "stripe": ({"stroke": "#c4cad1"}, "stroke:#444c56"),
    "unused": ({"fill": "#ffffff"}, "fill:#0d1117"),
    "loose": (
        {"fill": "none", "stroke": "#c4cad1", "stroke-dasharray": "2 3"},
        "stroke:#444c56",
    ),
    "dummy": ({"fill": "#e4e7eb"}, "fill:#2f363f"),
    "dummies": ({"fill": "#8c959f"}, "fill:#8d96a0"),
    "gap": ({"fill": "#f3f4f6"}, "fill:#161b22"),
}

_FONT: Final = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def render(arrangement: Arrangement, *, extra: tuple[tuple[str, str], ...] = ()) -> str:
    """The file's text; ``extra`` are facts to add."""
    return _Canvas(arrangement, extra).text()


class _Canvas:
    def __init__(self, arrangement: Arrangement, extra: tuple[tuple[str, str], ...]) -> None:
        self.of = arrangement
        self.lines = [*facts(arrangement), *extra, *(("note", n) for n in notes(arrangement))]
        self.picture = self._fitting()
        blocks = [b for row in self.picture.rows() for lane in row.blocks for b in lane]
        self.cell = _cell(self.picture)
        self.high = 9 + _LABEL * max((len(block.labels) for block in blocks), default=1)
        self.shapes: dict[str, list[str]] = defaultdict(list)
        self.texts: list[ET.Element] = []
        self.width = self.height = 0

    def _fitting(self) -> Picture:
        """As many lanes as a page takes, with lines that are not too short."""
        widths = natural_widths(self.of, _ACROSS)
        long = [across for across in widths if across >= _ACROSS // 2] or [*widths[:1], 1]
        cell = _CELL  # what blocks take at least; more is known after the first picture
        for lanes in range(min(_LANES, self.of.chip.lanes), 0, -1):
            for across in long:
                if lanes > 1 and lanes * (across * cell + _GUTTER) > _WIDE:
                    continue
                picture = draw(self.of, across=across, lanes=lanes, lines=_LINES, fold=_FOLD)
                found = _cell(picture)
                if len(picture.lanes) * (across * found + _GUTTER) <= _WIDE:
                    return picture
                cell = max(_CELL, found - 12)
        return picture

    # -- places ------------------------------------------------------------------------------

    def _columns(self) -> tuple[list[int], list[int], int]:
        """Left edges of the lanes, where lanes are left out, and the right edge."""
        picture = self.picture
        bytes_ = max(4, *(len(str(line.byte)) for line in picture.lines))
        x = _MARGIN + round(bytes_ * _LETTER) + 12
        edges: list[int] = []
        jumps: list[int] = []
        for before, lane in pairwise([-1, *picture.lanes]):
            if lane - before > 1:
                jumps.append(x + (_JUMP - _GUTTER) // 2)
                x += _JUMP
            edges.append(x)
            x += picture.across * self.cell + _GUTTER
        if self.of.chip.lanes - 1 > picture.lanes[-1]:
            jumps.append(x)
            x += _JUMP
        return edges, jumps, x - _GUTTER

    # -- drawing -----------------------------------------------------------------------------

    def text(self) -> str:
        edges, jumps, right = self._columns()
        y = self._head()
        y = self._lanes(edges, jumps, y)
        for line in self.picture.lines:
            y = self._line(line, edges, right, y)
        y = self._legend(y + 16)
        self.width = max(self.width, right + _MARGIN)
        self.height = y + _MARGIN
        return self._file()

    def _head(self) -> int:
        y = _MARGIN + 14
        self._write(_MARGIN, y, title(self.of), size=14, weight="bold")
        widest = max(len(name) for name, _ in self.lines)
        y += 8
        for name, value in self.lines:
            y += _TEXT
            self._write(_MARGIN, y, name, kind="faint", size=11)
            self._write(_MARGIN + round((widest + 2) * 6.7), y, value, size=11)
        return y + 26

    def _lanes(self, edges: list[int], jumps: list[int], y: int) -> int:
        y += 4
        for lane, x in zip(self.picture.lanes, edges, strict=True):
            head = "system memory" if self.of.system else f"NPU {lane}"
            self._write(x, y, head, size=12, weight="bold")
        for x in jumps:
            self._write(x, y, "…", kind="faint", size=12)
        return y + 9

    def _line(self, line: Row | Gap, edges: list[int], right: int, y: int) -> int:
        self._write(
            edges[0] - 8, y + self.high // 2 + 4, str(line.byte), kind="faint", anchor="end"
        )
        if isinstance(line, Gap):
            wide = self.picture.across * self.cell
            for x, kind in zip(edges, line.kinds, strict=True):
                self._rectangle("gap" if line.kind == "elided" else kind, x, y, wide, self.high)
                self._rectangle("loose", x, y, wide, self.high)
            middle = (edges[0] + edges[-1] + wide) // 2 if len(edges) == 1 else edges[0] + wide // 2
            text = f"{'⋮ ' if line.kind == 'elided' else ''}{line.text}"
            self._label(middle, y + self.high // 2 + 4, text)
            return y + self.high
        for x, blocks in zip(edges, line.blocks, strict=True):
            for number, block in enumerate(blocks):
                self._block(block, x + number * self.cell, y)
        return y + self.high

    def _block(self, block: Block, x: int, y: int) -> None:
        self._rectangle(self._paint(block), x, y, self.cell, self.high)
        if block.kind == "data" and block.dummies:  # they are the high bytes
            share = self.cell * block.dummies // len(block.parts)
            self._rectangle("dummies", x + self.cell - share, y + self.high - 4, share, 4)
        edge = "loose" if block.kind in ("unused", "padding") else "edge"
        self._rectangle(edge, x, y, self.cell, self.high)
        labels = block.labels or (("dummy",) if block.kind == "dummy" else ())
        top = y + (self.high - _LABEL * len(labels)) // 2
        for number, label in enumerate(labels):
            kind = "faint" if block.kind == "dummy" else "ink"
            self._label(x + self.cell // 2, top + number * _LABEL + 10, label, kind)

    def _paint(self, block: Block) -> str:
        if block.kind != "data":
            return block.kind
        n, c, _, _ = next(part for part in block.parts if part is not None)
        batch = n // (self.of.group or self.of.per_unit)
        return f"c{c % len(_HUES)}{batch % 2}"

    def _legend(self, y: int) -> int:
        kinds = self.picture.kinds()
        entries = [
            (self._example(), "n,c,h,w", f"block of {BLOCK} bytes"),
            ("padding", "", "padding"),
            ("unused", "", "unused: a slot without a channel"),
            ("dummy", "", "dummy: completes a word or group"),
        ]
        x = _MARGIN
        for kind, label, meaning in entries:
            if kind not in kinds and not label:
                continue
            wide = 52 if label else _SWATCH
            self._rectangle(kind, x, y, wide, 18)
            loose = kind in ("unused", "padding")
            self._rectangle("loose" if loose else "edge", x, y, wide, 18)
            if label:
                self._label(x + wide // 2, y + 13, label)
            self._write(x + wide + 8, y + 13, meaning, kind="faint")
            x += wide + 8 + round(len(meaning) * 6.7) + 24
        if "shared" in kinds:
            self._write(x, y + 13, "+ other elements, too", kind="faint")
            x += 150
        self.width = max(self.width, x)
        return y + 18

    def _example(self) -> str:
        for row in self.picture.rows():
            for lane in row.blocks:
                for block in lane:
                    if block.kind == "data":
                        return self._paint(block)
        return "c00"

    def _rectangle(self, kind: str, x: int, y: int, width: int, height: int) -> None:
        self.shapes[kind].append(f"M{x} {y}h{width}v{height}h-{width}z")

    def _label(self, x: int, y: int, text: str, kind: str = "ink") -> None:
        self._write(x, y, text, kind=kind, anchor="middle", size=10)

    def _write(
        self,
        x: int,
        y: int,
        text: str,
        *,
        kind: str = "ink",
        size: int = 11,
        weight: str = "",
        anchor: str = "",
    ) -> None:
        element = ET.Element("text", {"x": str(x), "y": str(y), "class": kind})
        for name, value in (
            ("font-size", str(size) if size != 10 else ""),
            ("font-weight", weight),
            ("text-anchor", anchor),
        ):
            if value:
                element.set(name, value)
        element.text = text
        self.texts.append(element)
        if not anchor:
            self.width = max(self.width, x + round(len(text) * size * 0.61) + _MARGIN)

    # -- the file ----------------------------------------------------------------------------

    def _file(self) -> str:
        root = ET.Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "viewBox": f"0 0 {self.width} {self.height}",
                "width": str(self.width),
                "height": str(self.height),
                "role": "img",
                "font-family": _FONT,
                "font-size": "10",
            },
        )
        ET.SubElement(root, "title").text = title(self.of)
        used = sorted(self.shapes)
        ET.SubElement(root, "style").text = _style([kind for kind in used if kind not in _PAINTS])
        self._hatch(ET.SubElement(root, "defs"))
        page = {"width": str(self.width), "height": str(self.height), "class": "page"}
        ET.SubElement(root, "rect", {**page, **_PAINTS["page"][0]})
        lines = ("dummies", "loose", "edge")
        for kind in [*(kind for kind in used if kind not in lines), *lines]:
            if kind in self.shapes:
                path = {"class": kind, "d": "".join(self.shapes[kind])}
                ET.SubElement(root, "path", {**path, **_fill(kind)})
        for kind in ("ink", "faint"):
            group = ET.SubElement(root, "g", {"class": kind, **_PAINTS[kind][0]})
            for element in self.texts:
                if element.get("class") == kind:
                    del element.attrib["class"]
                    group.append(element)
        ET.indent(root, " ")
        return ET.tostring(root, encoding="unicode") + "\n"

    @staticmethod
    def _hatch(defs: ET.Element) -> None:
        size = {"width": "6", "height": "6"}
        pattern = ET.SubElement(
            defs,
            "pattern",
            {
                "id": "hatch",
                "patternUnits": "userSpaceOnUse",
                "patternTransform": "rotate(45)",
                **size,
            },
        )
        ET.SubElement(pattern, "rect", {**size, "class": "hatch", **_PAINTS["hatch"][0]})
        line = {"x1": "0", "y1": "0", "x2": "0", "y2": "6", "class": "stripe"}
        ET.SubElement(pattern, "line", {**line, **_PAINTS["stripe"][0]})


def _cell(picture: Picture) -> int:
    """How wide a block is."""
    blocks = (block for row in picture.rows() for lane in row.blocks for block in lane)
    longest = max((len(label) for block in blocks for label in block.labels), default=0)
    return max(_CELL, round(longest * _LETTER) + 12)


def _fill(kind: str) -> dict[str, str]:
    if kind in _PAINTS:
        return _PAINTS[kind][0]
    hue, shade = int(kind[1]), int(kind[2])
    return {"fill": _HUES[hue][shade]}


def _style(colours: list[str]) -> str:
    """What dark pages change."""
    rules = [f".{kind}{{{dark}}}" for kind, (_, dark) in _PAINTS.items() if dark]
    rules += [f".{kind}{{fill:{_HUES[int(kind[1])][2 + int(kind[2])]}}}" for kind in colours]
    return f"@media (prefers-color-scheme:dark){{{''.join(rules)}}}"
