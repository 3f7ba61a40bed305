"""Generated programs against the check: ``python -m tests.oracles.differential --count 1000``.

Exit status 1 if CPython and the check disagree on one.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.oracles.judging import DISAGREEMENTS, Judgement, judge
from tests.oracles.programs import FEATURES, Program, numbered
from tests.oracles.shrinking import shrunk

#: programs that a worker process is given at once
_CHUNK = 25


@dataclass(slots=True)
class Totals:
    """What came of many programs."""

    kinds: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    #: disagreements by the groups of features that the smaller program still has
    groups: Counter[str] = field(default_factory=Counter)
    found: list[Found] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Found:
    """One program and what came of it, with the smaller program if it was asked for."""

    seed: int
    groups: frozenset[str]
    judgement: Judgement


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    options = _options().parse_args(arguments)
    features = tuple(options.features.split(",")) if options.features else FEATURES
    unknown = set(features) - set(FEATURES)
    if unknown:
        print(f"no such features: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    forms = [form for form in (False, True) if options.form in (None, form)]
    failed = False
    for symbolic in forms:
        totals = Totals()
        for found in _all(options, features, symbolic):
            _count(totals, found)
            if found.judgement.disagrees:
                _show(found, symbolic, options.keep)
        print(summary(totals, "symbolic" if symbolic else "concrete"))
        failed = failed or any(totals.kinds[kind] for kind in DISAGREEMENTS)
    return 1 if failed else 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.oracles.differential")
    parser.add_argument("--count", type=int, default=1000, help="programs of each form")
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--shrink", action="store_true", help="make disagreements smaller")
    parser.add_argument("--keep", type=Path, help="write disagreements into this folder")
    parser.add_argument("--features", default="", help=f"of {','.join(FEATURES)}")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--symbolic", dest="form", action="store_true", default=None)
    form.add_argument("--concrete", dest="form", action="store_false")
    return parser


def _all(options: argparse.Namespace, features: Collection[str], symbolic: bool) -> Iterator[Found]:
    seeds = range(options.seed, options.seed + options.count)
    work = partial(one, features=features, symbolic=symbolic, shrink=options.shrink)
    if options.jobs <= 1:
        yield from map(work, seeds)
        return
    with ProcessPoolExecutor(options.jobs) as pool:
        yield from pool.map(work, seeds, chunksize=_CHUNK)


def one(seed: int, *, features: Collection[str], symbolic: bool, shrink: bool) -> Found:
    """The program of a seed, judged."""
    os.environ["TILELINT_CACHE_DIR"] = ""
    program = numbered(seed, features, symbolic)
    judgement = judge(program)
    if shrink and judgement.disagrees:
        return Found(seed, program.groups, judge(smallest(program, judgement)))
    return Found(seed, program.groups, judgement)


def smallest(program: Program, judgement: Judgement) -> Program:
    """The program without the lines that the disagreement does not need."""

    def fails(candidate: Program) -> bool:
        now = judge(candidate)
        return (now.kind, now.about) == (judgement.kind, judgement.about)

    return shrunk(program, fails)


def _count(totals: Totals, found: Found) -> None:
    judgement = found.judgement
    totals.kinds[judgement.kind] += 1
    totals.reasons.update(sorted(set(judgement.reasons)))
    if judgement.disagrees:
        totals.groups.update(sorted(found.groups))
        totals.found.append(found)


def _show(found: Found, symbolic: bool, keep: Path | None) -> None:
    judgement, form = found.judgement, "symbolic" if symbolic else "concrete"
    print(
        f"==== {judgement.kind}: seed {found.seed}, {form}", f"right: {judgement.right}", sep="\n"
    )
    print(f"said:  {judgement.said}\n{judgement.text}")
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        file = keep / f"{judgement.kind}_{form}_{found.seed}.py"
        head = f"# right: {judgement.right}\n# said: {judgement.said}\n"
        file.write_text(head + judgement.text, encoding="utf-8")


def summary(totals: Totals, form: str) -> str:
    """The totals for reading."""
    count = sum(totals.kinds.values()) or 1
    parts = [f"{kind} {number}" for kind, number in totals.kinds.most_common()]
    lines = [f"{form}: {count} programs: {', '.join(parts)}"]
    lines.append(f"unknown: {100 * totals.kinds['unknown'] / count:.1f} %")
    lines += [f"  {number:5} {reason}" for reason, number in totals.reasons.most_common(25)]
    if totals.groups:
        lines.append("features of the programs that disagree:")
        lines += [f"  {number:5} {group}" for group, number in totals.groups.most_common()]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
