"""``tilelint contract``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verifier.cli import options
from verifier.cli.output import Refusal, complain, remark, version
from verifier.cli.paths import key_of, project_root

if TYPE_CHECKING:
    from verifier.configuration.settings import Configurations
    from verifier.report.model import Precondition
    from verifier.service.inferred import Inferred


@click.command("contract")
@click.argument("paths", nargs=-1, type=click.Path())
@options.settings
@click.option(
    "--format",
    "format_",
    type=click.Choice(["contract", "docstring", "asserts", "json"]),
    default="contract",
    show_default=True,
    help="How to print the preconditions.",
)
@click.option(
    "--write",
    is_flag=True,
    help="Put the contracts into the configuration of each file, where none is there yet.",
)
@click.option(
    "--from-tests",
    "tests",
    multiple=True,
    type=click.Path(exists=True),
    metavar="DIR",
    help="Print (or write, as presets) the contracts under which the tests and scripts in DIR "
    "launch the kernels; nothing of them is run (repeatable).",
)
@click.option(
    "--at-most",
    "most",
    type=click.IntRange(min=1),
    metavar="N",
    default=8,
    show_default=True,
    help="With --from-tests: contracts for each kernel.",
)
def command(
    paths: tuple[str, ...],
    format_: str,
    write: bool,
    tests: tuple[str, ...],
    most: int,
    **said: Any,
) -> None:
    """Print for which inputs each kernel in PATHS (default: this directory) is right.

    What the grammar of contracts has no form for, and kernels whose precondition is not known,
    stand in comments.
    """
    if tests:
        from verifier.cli.fromtests import presets

        if format_ not in ("contract", "json"):
            raise Refusal(f"--from-tests has no format '{format_}'")
        configurations = options.configurations(said)
        status = presets(paths or (".",), tests, configurations, format_ == "json", write, most)
        click.get_current_context().exit(status)
    from verifier.cli.runner import RunOptions, complaint, default_jobs, run
    from verifier.configuration.model import ConfigurationError
    from verifier.service.inferred import inferred

    configurations = options.configurations(said)
    given = paths or (".",)
    try:
        settings = configurations.for_run(given).settings
        report = run(RunOptions(given, configurations, jobs=settings.jobs or default_jobs()))
    except ConfigurationError as error:
        raise Refusal(str(error)) from error
    found = [inferred(kernel) for kernel in report.kernels]
    if format_ == "json":
        click.echo(json.dumps(_document(found), indent=2))
    else:
        for line in _lines(found, format_):
            click.echo(line)
    if write:
        for remark_ in _written(found, configurations):
            remark(remark_)
    for failure in report.errors:
        complain(complaint(failure))
    known = all(item.contract for item in found)
    click.get_current_context().exit(2 if report.errors else 0 if known else 1)


def _written(found: list[Inferred], configurations: Configurations) -> Iterator[str]:
    """Write the contracts that are whole; what came of it, in lines."""
    from verifier.cli.writing import write_whole
    from verifier.configuration.model import NAME
    from verifier.configuration.writing import CannotWriteError, with_contracts

    wanted: dict[str, dict[str, dict[str, str]]] = {}
    known = {(item.kernel.path, item.kernel.name, item.kernel.target) for item in found}
    targets = Counter((path, name) for path, name, _ in known)
    for item in found:
        kernel = item.kernel
        if kernel.contract and kernel.precondition and kernel.precondition.main:
            yield (
                f"{kernel.path}: the contract of `{kernel.name}` is left as it is: it is no "
                "longer enough"
            )
        if kernel.contract or not item.contract:
            continue
        if not item.whole:
            yield f"{kernel.path}: no contract of `{kernel.name}` is written: it would say less"
            continue
        file = configurations.for_file(kernel.path).file or str(Path(project_root(), NAME))
        key = key_of(kernel.path, kernel.name, file)
        count = targets[kernel.path, kernel.name]
        text = item.contract.removeprefix(kernel.name)
        said = wanted.setdefault(file, {}).setdefault(key, {})
        said[kernel.target if count > 1 else ""] = text
        if len(said) == count > len({*said.values()}) == 1:
            wanted[file][key] = {"": text}
    for file, by_target in sorted(wanted.items()):
        contracts = {key: _for_targets(said) for key, said in by_target.items()}
        try:
            before = Path(file).read_text("utf-8") if Path(file).exists() else ""
            after = with_contracts(file, before, contracts)
        except (CannotWriteError, UnicodeDecodeError) as error:
            raise Refusal(f"{file}: {error}") from error
        if after != before:
            write_whole(file, after)
            yield f"wrote contracts into {file}"


def _for_targets(said: Mapping[str, str]) -> str | list[str]:
    """The contracts of a kernel by target, each for its own; ``""``: that of all."""
    from msgspec.structs import replace

    from verifier.configuration.grammar import parse
    from verifier.configuration.showing import text_of

    if "" in said:
        return said[""]
    return [
        text_of(replace(parse(text, comment=True), targets=(target,)))
        for target, text in said.items()
    ]


def _lines(found: list[Inferred], form: str) -> Iterator[str]:
    for item in found:
        kernel, condition = item.kernel, item.kernel.precondition
        yield f"# {kernel.path}:{kernel.line}: {kernel.name} on {kernel.target}"
        if not item.contract or condition is None:
            yield from (f"# not known: {reason}" for reason in item.reasons)
        elif form == "contract":
            yield item.contract
            yield from (f"# and {condition}" for condition in item.left_out)
        elif form == "docstring":
            yield from _docstring(condition)
        else:
            yield from (f"# not asserted: {conjunct.text}" for conjunct in condition.dtypes)
            for conjunct in condition.sizes:
                if conjunct.assertion is None:
                    yield f"# cannot be asserted: {conjunct.text}"
                else:
                    yield _dedented(conjunct.assertion.text)
        yield ""


def _docstring(condition: Precondition) -> Iterator[str]:
    """The precondition as a part of a docstring."""
    wanted = [conjunct.text for conjunct in condition.conjuncts if not conjunct.rank]
    if not wanted:
        yield "Right for all inputs that it admits."
        return
    yield "Right exactly when:" if condition.exact else "Right at least when:"
    yield from (f"    {text}" for text in wanted)


def _dedented(text: str) -> str:
    from textwrap import dedent

    return dedent(text).rstrip("\n")


def _document(found: list[Inferred]) -> dict[str, Any]:
    from verifier.report.json_format import precondition

    return {
        "schema_version": 1,
        "tool": {"name": "tilelint", "version": version()},
        "kernels": [
            {
                "path": item.kernel.path,
                "name": item.kernel.name,
                "line": item.kernel.line,
                "target": item.kernel.target,
                "contract": item.contract or None,
                "left_out": list(item.left_out),
                "exact": bool(item.kernel.precondition and item.kernel.precondition.exact),
                "reasons": list(item.reasons),
                "precondition": (
                    None
                    if item.kernel.precondition is None
                    else precondition(item.kernel.precondition)
                ),
            }
            for item in found
        ],
    }
