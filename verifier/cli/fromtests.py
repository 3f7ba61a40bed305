"""``tilelint contract --from-tests``: the shapes that tests and scripts launch kernels with."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verifier.cli.output import Refusal, complain, remark, version
from verifier.cli.paths import Display, key_of, project_root

if TYPE_CHECKING:
    from verifier.configuration.settings import Configurations
    from verifier.suites.reading import Preset, Readings


def presets(
    paths: Sequence[str],
    tests: Sequence[str],
    configurations: Configurations,
    as_json: bool,
    write: bool,
    most: int,
) -> int:
    """Print what is found, or write it into the configuration; the exit status."""
    readings = _read(paths, tests, most)
    display = Display((), [*paths, *tests])
    if as_json:
        click.echo(json.dumps(_document(readings, display), indent=2))
    elif not write:
        for line in _lines(readings, display):
            click.echo(line)
    if write:
        for line in _written(readings, configurations):
            remark(line)
    if not as_json:
        for line in _left(readings, display):
            remark(line)
    return 0 if readings.presets else 1


def _read(paths: Sequence[str], tests: Sequence[str], most: int) -> Readings:
    from verifier.cli.candidates import gather, roots_of
    from verifier.cli.runner import complaint
    from verifier.source.files import collect
    from verifier.source.project import Project
    from verifier.source.text import SourceError
    from verifier.suites.reading import launchable, read

    found = gather(paths)
    for error in found.errors:
        complain(complaint(error))
    project = Project(Path(root) for root in roots_of([*paths, *tests]))
    modules = []
    for file in sorted(found.files):
        with suppress(SourceError):  # what does not parse has no kernels that could be launched
            modules.append(project.module(Path(file)))
    known = launchable(project, modules)
    files = sorted(collect([Path(test) for test in tests], []))
    return read(project, files, known.kernels, known.device, most)


def _lines(readings: Readings, display: Display) -> Iterator[str]:
    for kernel, found in readings.presets.items():
        yield f"# {display.name(str(kernel.path))}:{kernel.line}: {kernel.name}"
        for preset in found:
            place = f"{display.name(preset.path)}:{preset.line}"
            yield f"{kernel.name}{preset.contract}  # {place}: {preset.program}"
        yield ""


def _left(readings: Readings, display: Display) -> Iterator[str]:
    """What was left out, and what could not be read."""
    for kernel, count in readings.left_out.items():
        more = "1 more contract" if count == 1 else f"{count} more contracts"
        yield f"{kernel.name}: {more} left out (--at-most)"
    for one in readings.unread:
        yield f"{display.name(one.path)}:{one.line}: {one.program}: not read: {one.reason}"
    if readings.rows_left_out:
        yield f"{readings.rows_left_out} rows of tests were left out"


# ------------------------------------------------------------------------ configuration


def _written(readings: Readings, configurations: Configurations) -> Iterator[str]:
    """Write presets, one for each file of tests; what came of it, in lines."""
    from verifier.cli.writing import write_whole
    from verifier.configuration.model import NAME
    from verifier.configuration.writing import CannotWriteError, with_contracts

    wanted: dict[str, dict[str, dict[str, list[str]]]] = {}
    for kernel, found in readings.presets.items():
        file = configurations.for_file(str(kernel.path)).file or str(Path(project_root(), NAME))
        key = key_of(str(kernel.path), kernel.name, file)
        for preset in found:
            table = wanted.setdefault(file, {}).setdefault(_name(preset), {})
            table.setdefault(key, []).append(preset.contract)
    for file, tables in sorted(wanted.items()):
        try:
            before = Path(file).read_text("utf-8") if Path(file).exists() else ""
            after = before
            for name, contracts in sorted(tables.items()):
                single = {key: said[0] if len(said) == 1 else said
                          for key, said in contracts.items()}  # fmt: skip
                after = with_contracts(file, after, single, preset=name)
        except (CannotWriteError, UnicodeDecodeError) as error:
            raise Refusal(f"{file}: {error}") from error
        if after != before:
            write_whole(file, after)
            yield f"wrote presets into {file}"


def _name(preset: Preset) -> str:
    """The name of a preset: that of the file that launches it."""
    return re.sub(r"\W+", "-", Path(preset.path).stem)


# ------------------------------------------------------------------------ JSON


def _document(readings: Readings, display: Display) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "tool": {"name": "tilelint", "version": version()},
        "kernels": [
            {
                "path": display.name(str(kernel.path)),
                "name": kernel.name,
                "line": kernel.line,
                "presets": [
                    {
                        "contract": f"{kernel.name}{preset.contract}",
                        "path": display.name(preset.path),
                        "line": preset.line,
                        "program": preset.program,
                        "targets": list(preset.targets),
                    }
                    for preset in found
                ],
                "left_out": readings.left_out.get(kernel, 0),
            }
            for kernel, found in readings.presets.items()
        ],
        "unread": [
            {
                "path": display.name(one.path),
                "line": one.line,
                "program": one.program,
                "reason": one.reason,
            }
            for one in readings.unread
        ],
        "rows_left_out": readings.rows_left_out,
    }
