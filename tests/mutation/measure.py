"""The share of mutants that the check catches, by class, and what it lets through.

``python -m tests.mutation.measure [LIMIT]`` prints the table and the survivors.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from shutil import copy
from tempfile import TemporaryDirectory
from typing import Final

from tests.fixtures.support import good, settings_of
from tests.mutation.mutate import CLASSES, Mutant, mutants
from verifier.engine import analyze_file
from verifier.report.model import FileRequest

#: A file without a kernel is judged through a kernel that uses it.
_USED_BY: Final = {"tile_helpers": "gated_unit"}

_OVERLAP = "tiles overlap and store the same values twice"
_MASKED = "further iterations are masked out altogether"
_SAME_TRIPS = "the quotient is the same"
_IDEMPOTENT = "columns seen twice change no minimum or maximum"

#: Mutants that compute the same as the original, within the hardware's bounds: fixture, line
#: without its indent, description; and why.
EQUIVALENT: Final[dict[tuple[str, str, str], str]] = {
    ("affine_tails", "for r0 in range(0, N, 128):", "128 -> 64"): _OVERLAP,
    ("affine_tails", "for c0 in range(0, M, STEP):", "STEP -> 384"): _OVERLAP,
    ("ceil_div_tails", "end = min(begin + tile_f, F)", "tile_f -> 1001"): _OVERLAP,
    ("ceil_div_tails", "end = min(begin + tile_f, F)", "tile_f -> 2000"): _OVERLAP,
    ("attention_head", "for j in range(KEYS // 128):", "KEYS -> 385"): _SAME_TRIPS,
    ("beta1_masked_square", "for i in nl.affine_range(math.ceil(R / TR)):", "TR -> 64"): _MASKED,
    ("beta1_masked_square", "for j in nl.affine_range(math.ceil(C / TC)):", "TC -> 320"): _MASKED,
    ("beta1_softmax", "for i in nl.affine_range((R + 127) // 128):", "127 -> 128"): _MASKED,
    ("beta1_softmax", "for i in nl.affine_range((R + 127) // 128):", "127 -> 254"): _MASKED,
    ("beta1_softmax", "for i in nl.affine_range((R + 127) // 128):", "128 -> 64"): _MASKED,
    ("row_extremes", "for start in range(0, N, STRIP):", "STRIP -> 1024"): _IDEMPOTENT,
    ("row_extremes", "width = min(N - start, STRIP)", "STRIP -> 2049"): _IDEMPOTENT,
    ("row_extremes", "width = min(N - start, STRIP)", "STRIP -> 4096"): _IDEMPOTENT,
    (
        "placed_by_hand",
        "c = nl.ndarray((128, 1024), dtype=nl.float32, buffer=nl.sbuf, address=(0, 8192))",
        "8192 -> 16384",
    ): "another free place",
    ("factory_scale", "assert groups >= 1", "without groups >= 1"): (
        "follows from x.shape[0] == groups * height >= 1 and height >= 1"
    ),
    (
        "kernel_assert_helper",
        'kernel_assert(len(x.shape) == 3, "x has batch, rows and columns")',
        "without len(x.shape) == 3",
    ): "unpacking into three names demands the same",
}


@dataclass(slots=True)
class Score:
    """Counts by class, and the mutants that were neither caught nor equivalent."""

    total: Counter[str] = field(default_factory=Counter)
    caught: Counter[str] = field(default_factory=Counter)
    equivalent: Counter[str] = field(default_factory=Counter)
    survivors: list[str] = field(default_factory=list)
    #: Equivalent mutants that were reported all the same: false findings.
    wronged: list[str] = field(default_factory=list)

    def share(self) -> float:
        """The share of all mutants that are caught or equivalent, 0 to 1."""
        return (self.caught.total() + self.equivalent.total()) / self.total.total()

    def table(self) -> str:
        """A line for each class, the sum, and the survivors."""
        lines = [f"{'class':16}{'mutants':>9}{'caught':>9}{'same':>7}{'share':>9}"]
        for kind in (*CLASSES, "all"):
            n, c, e = (
                counts.total() if kind == "all" else counts[kind]
                for counts in (self.total, self.caught, self.equivalent)
            )
            lines.append(f"{kind:16}{n:9}{c:9}{e:7}{(c + e) / max(n, 1):9.1%}")
        return "\n".join([*lines, *(f"survives: {s}" for s in self.survivors)])


def _is_caught(folder: Path, name: str, mutant: Mutant) -> bool:
    changed = folder / f"{name}.py"
    original = changed.read_text(encoding="utf-8")
    changed.write_text(mutant.text, encoding="utf-8")
    judged = folder / f"{_USED_BY.get(name, name)}.py"
    settings = settings_of(judged.read_text(encoding="utf-8"))
    result = analyze_file(
        FileRequest(
            path=str(judged),
            roots=(str(folder),),
            targets=settings.targets,
            api_version=settings.api_version,
        )
    )
    changed.write_text(original, encoding="utf-8")
    assert not [e for e in result.errors if e.kind == "internal"], (name, mutant, result.errors)
    return any(
        d.severity in ("error", "warning") and d.verdict != "unknown" for d in result.diagnostics
    )


def measure(limit: int, every: int = 1) -> Score:
    """Mutates good fixtures, at most ``limit`` times for each class, and checks each mutant.

    Of each fixture one class in ``every`` is taken, from the next one on for the next fixture.

    The originals are silent, so that each finding is one that the original does not have.
    """
    score = Score()
    with TemporaryDirectory() as place:
        folder = Path(place)
        for path in good("nki"):
            copy(path, folder)
        for number, path in enumerate(good("nki")):
            text = path.read_text(encoding="utf-8")
            lines = text.splitlines()
            for kind in CLASSES[number % every :: every]:
                for mutant in mutants(text, path.stem, kind, limit):
                    line = lines[mutant.line - 1].strip()
                    words = f"{path.stem}:{mutant.line} {kind}: {mutant.description}"
                    score.total[kind] += 1
                    caught = _is_caught(folder, path.stem, mutant)
                    if (path.stem, line, mutant.description) in EQUIVALENT:
                        score.equivalent[kind] += 1
                        if caught:
                            score.wronged.append(words)
                    elif caught:
                        score.caught[kind] += 1
                    else:
                        score.survivors.append(words)
    return score


if __name__ == "__main__":
    print(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 1000).table())
