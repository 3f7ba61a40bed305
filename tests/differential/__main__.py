"""Drawn kernels, check against run: ``python -m tests.differential --count 1000``.

Exit status 1 if they disagree on one.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path

from tests.differential.drawing import DRAWN, numbered, of_dialect, subjects, undrawn
from tests.differential.judging import Judgement, judge, judged
from tests.differential.shrinking import shrunk

#: kernels that a worker process is given at once
_CHUNK = 50
#: bytes that a process may use: a run of large tensors ends for want of memory, and not the machine
_MEMORY = 8 << 30


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    options = _options().parse_args(arguments)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    gc.set_threshold(50_000, 20, 50)  # little of what a kernel leaves behind is cyclic
    started = time.monotonic()
    kinds: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    wrong = 0
    for number, judgement in _all(options):
        kinds[judgement.kind] += 1
        reasons.update(sorted(set(judgement.reasons)))
        if judgement.problems:
            wrong += 1
            _show(number, judgement, options)
        if options.seconds is not None and time.monotonic() - started > options.seconds:
            break
    _summary(options, kinds, reasons, wrong, time.monotonic() - started)
    return 1 if wrong else 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.differential")
    parser.add_argument("--count", type=int, default=1000, help="kernels")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first one")
    parser.add_argument("--dialect", choices=sorted(DRAWN), help="kernels of this one only")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--seconds", type=float, help="go on for so long at most")
    parser.add_argument("--shrink", action="store_true", help="make disagreements smaller")
    parser.add_argument("--keep", type=Path, help="write disagreements into this folder")
    return parser


def _all(options: argparse.Namespace) -> Iterator[tuple[int, Judgement]]:
    numbers = [*islice(of_dialect(options.dialect, options.seed), options.count)]
    parts = [numbers[n : n + _CHUNK] for n in range(0, len(numbers), _CHUNK)]
    if options.jobs <= 1:
        found = map(several, parts)
        yield from (each for part in found for each in part)
        return
    with ProcessPoolExecutor(options.jobs) as pool:
        for part in pool.map(several, parts):
            yield from part


def several(numbers: Sequence[int]) -> list[tuple[int, Judgement]]:
    """The kernels of some numbers, judged."""
    os.environ["TILELINT_CACHE_DIR"] = ""
    return list(zip(numbers, judged(map(numbered, numbers)), strict=True))


def _show(number: int, judgement: Judgement, options: argparse.Namespace) -> None:
    drawn = numbered(number)
    if options.shrink and judgement.kind != "crash":
        drawn = shrunk(drawn, judgement)
        judgement = judge(drawn)
    head = [f"# kernel {number}, {drawn.api}, {drawn.target}: {drawn.contract}"]
    head += [f"# {line}" for problem in judgement.problems for line in problem.splitlines()]
    print("\n".join([*head, *(drawn.text.splitlines() if options.shrink else ())]), flush=True)
    if options.keep is not None:
        options.keep.mkdir(parents=True, exist_ok=True)
        text = "\n".join((*drawn.text.splitlines(), *head, ""))
        (options.keep / f"drawn_{number}.py").write_text(text, encoding="utf-8")


def _summary(
    options: argparse.Namespace,
    kinds: Counter[str],
    reasons: Counter[str],
    wrong: int,
    seconds: float,
) -> None:
    count = sum(kinds.values())
    parts = ", ".join(f"{kind} {number}" for kind, number in kinds.most_common())
    print(f"{count} kernels from number {options.seed} on in {seconds:.0f} s: {parts}")
    print(f"drawn for: {len(subjects())} pairs of an instruction and a generation or a chip")
    for dialect in undrawn():
        print(f"not drawn: {dialect}")
    print(f"disagreements: {wrong}")
    for reason, number in reasons.most_common(40):
        print(f"  {number:6} {reason}")


if __name__ == "__main__":
    sys.exit(main())
