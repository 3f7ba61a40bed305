"""``tilelint run``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from verifier.cli import selection
from verifier.cli.output import Refusal, complain, version

if TYPE_CHECKING:
    from verifier.configuration.contracts import Spec
    from verifier.executor.arguments import Argument
    from verifier.executor.protocol import Reply, Request
    from verifier.report.model import Diagnostic, Severity

_PASSED = 0
_VIOLATED = 1
_MISUSED = 2


@click.command("run")
@click.argument("kernel", metavar="FILE::KERNEL")
@click.option(
    "--arg",
    "arguments",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter: bf16[256,128] (random), @file.npy, 4, 0.5, true, (2, 3), text (repeatable).",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of random tensors.")
@click.option(
    "--target",
    metavar="NAME",
    help="Hardware: trn2, bm1684 ... (default: the first that `check` takes).",
)
@click.option(
    "--api-version",
    metavar="VERSION",
    help="NKI generation: beta1, 0.2 .. 0.6 (default: inferred from the file).",
)
@click.option("--shapes-only", is_flag=True, help="Check everything, compute nothing.")
@click.option("--keep-going", is_flag=True, help="Go on after a violation.")
@click.option(
    "--loop-order",
    type=click.Choice(["forward", "reversed", "shuffled"]),
    default="forward",
    show_default=True,
    help="Run affine_range loops in this order, too, and compare the results.",
)
@click.option("--grid", metavar="N,N", help="Launch on a grid: kernel[N, N](...).")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Time limit of the kernel.",
)
@click.option(
    "--memory",
    type=click.IntRange(min=1),
    default=4096,
    show_default=True,
    metavar="MB",
    help="Memory limit of the kernel.",
)
@click.option(
    "--save",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write inputs (by name) and results (out0, out1, ...) to a .npz file.",
)
def command(
    kernel: str,
    arguments: tuple[str, ...],
    seed: int,
    target: str | None,
    api_version: str | None,
    shapes_only: bool,
    keep_going: bool,
    loop_order: str,
    grid: str | None,
    timeout: float,
    memory: int,
    save: str | None,
) -> None:
    """Run one kernel on NumPy and check every operation it performs.

    The kernel's file is executed, in a process of its own.

    Exit status: 0 no errors (there may be warnings), 1 it breaks a rule whose breach is an error,
    2 bad usage or a kernel that cannot be run.
    """
    from verifier.executor.protocol import Request
    from verifier.executor.runner import run

    path, name = _kernel(kernel)
    chosen = selection.targets((target,) if target else ())
    if len(chosen) > 1:
        raise Refusal("one target is run at a time")
    if shapes_only and loop_order != "forward":
        raise Refusal("--loop-order compares results, and --shapes-only computes none")
    if save is not None and not Path(save).absolute().parent.is_dir():
        raise Refusal(f"cannot write {save}: no such directory")
    request = Request(
        path=str(path),
        name=name,
        arguments=_arguments(arguments),
        target=chosen[0] if chosen else "",
        api_version=selection.api_version(api_version),
        grid=_grid(grid),
        seed=seed,
        shapes_only=shapes_only,
        keep_going=keep_going,
        loop_order=loop_order,
        timeout=timeout,
        memory=memory,
    )
    sys.stdout.flush()
    reply = run(request, Path(save) if save is not None else None)
    reply.diagnostics += _confirmed(reply.doubts, request) + _refused(reply, request)
    reply.diagnostics += _raised(reply, request)
    click.get_current_context().exit(_tell(reply, name, request.path))


def _confirmed(doubts: list[Diagnostic], request: Request) -> list[Diagnostic]:
    """Findings that one input is not enough for, as far as a check of all inputs has them, too.

    They are as severe as that check has them. What it asks and cannot decide the run has decided.
    """
    if not doubts:
        return []
    from verifier.engine import analyze_file
    from verifier.report.model import FileRequest, Need
    from verifier.service.preconditions import stated

    target = (request.target,) if request.target else ()
    asked = FileRequest(
        path=request.path,
        targets=target,
        api_version=request.api_version,
        kernels=(request.name,),
    )
    said: list[tuple[Diagnostic, Severity]] = []
    undecided: list[Diagnostic] = []
    result = stated(analyze_file(asked), None, wanted=True, severity={})
    found = [d for d in result.diagnostics if d.kernel == request.name]
    for d in found:
        if d.verdict == "unknown":
            undecided.append(d)
            continue
        severity = d.severity
        for whole in found:  # a part of the precondition is as severe as that
            if d.part and whole.precondition is not None:
                if whole.precondition.concerns(Need(d.rule, d.span)):
                    severity = whole.severity
        said.append((d, severity))
    out: list[Diagnostic] = []
    for doubt in doubts:
        same = [severity for d, severity in said if _same(d, doubt)]
        if same:
            out.append(replace(doubt, severity="error" if "error" in same else same[-1]))
        elif any(_same(d, doubt) for d in undecided) or any(_otherwise(d, doubt) for d in found):
            out.append(doubt)
    return out


def _same(found: Diagnostic, doubt: Diagnostic) -> bool:
    """Whether a check says what a run says."""
    from verifier.report.spans import alike

    if found.rule != doubt.rule or not alike(found.subject, doubt.subject):
        return False
    said = doubt.message in (found.message, found.claim)
    return doubt.subject is not None or said or doubt.span == found.span


def _otherwise(found: Diagnostic, doubt: Diagnostic) -> bool:
    """Whether a check says by another rule what a run says of one of its places."""
    from verifier.rulebase import find

    rule = find(found.rule)
    if rule is None or doubt.rule not in rule.replayed.told_as or found.verdict == "unknown":
        return False
    return any(label.span.line == doubt.span.line for label in found.labels)


def _refused(reply: Reply, request: Request) -> list[Diagnostic]:
    """What the compiler of the kernel does not take with these inputs, as a check has it.

    A run is of the text as Python has it; the rules about what is compiled are asked of the text.
    """
    from verifier.dialects.registry import of_generation

    if not reply.api_version or of_generation(reply.api_version).rewrites is None:
        return []
    from verifier.rulebase import all_rules

    rules = tuple(rule.id for rule in all_rules() if rule.replayed.refused)
    found = _checked(request, rules)
    told = {  # once, for however many targets the kernel is
        (d.rule, d.span, d.message): replace(d, severity="error")
        for d in found
        if d.kernel == request.name and d.rule in rules and d.verdict != "unknown"
    }
    return list(told.values())


def _raised(reply: Reply, request: Request) -> list[Diagnostic]:
    """What Python raised in the kernel, if a check with these inputs has it as an error there.

    What the kernel itself refuses, by an ``assert`` or a ``raise``, is no finding: these inputs are
    none that it admits. Nor is it one that an argument has not what is asked of it.
    """
    if reply.ended is None or reply.ended[0] != "raised" or reply.diagnostics:
        return []
    _, _, file, line = reply.ended
    return [
        d
        for d in _checked(request, ())
        if (d.kernel, d.span.path, d.span.line) == (request.name, file, line)
        and d.severity == "error"
        and d.rule not in ("no-admitted-input", "no-attribute")
    ]


def _checked(request: Request, select: tuple[str, ...]) -> tuple[Diagnostic, ...]:
    """What a check finds with the inputs of a run."""
    from verifier.engine import analyze_file
    from verifier.report.model import FileRequest

    asked = FileRequest(
        path=request.path,
        targets=(request.target,) if request.target else (),
        api_version=request.api_version,
        contracts=(_contract(request),),
        given_only=True,
        kernels=(request.name,),
        select=select,
    )
    return analyze_file(asked).diagnostics


def _contract(request: Request) -> str:
    """The inputs of a run as a contract; what contracts have no form for stays free."""
    from verifier.configuration import contracts as tree
    from verifier.configuration.showing import text_of
    from verifier.executor.arguments import ArgumentKind

    parameters = []
    for name, given in request.arguments.items():
        spec: Spec | None = None
        if given.kind is ArgumentKind.TENSOR:
            spec = tree.TensorSpec((given.dtype,), tuple(map(tree.Int, given.shape)))
        elif given.kind is ArgumentKind.VALUE:
            spec = _literal(given.value)
        if spec is not None:
            parameters.append(tree.Parameter(name, spec))
    grid = tuple(map(tree.Int, request.grid))
    return text_of(tree.Contract(request.name, grid, tuple(parameters), (), False))


def _literal(value: object) -> Spec | None:
    """A plain value as a contract gives it; None: there is no form for it."""
    from verifier.configuration import contracts as tree

    if value is None or isinstance(value, bool):
        return tree.LiteralSpec(value)
    if isinstance(value, int):
        return tree.IntSpec(tree.Int(value))
    if isinstance(value, float):
        return tree.FloatSpec(value)
    return tree.StringSpec(value) if isinstance(value, str) else None


def _kernel(text: str) -> tuple[Path, str]:
    file, separator, name = text.rpartition("::")
    if not separator or not file or not name:
        raise Refusal(f"a kernel is FILE::KERNEL, not '{text}'")
    path = Path(file)
    if not path.is_file():
        raise Refusal(f"{file}: {'is a directory' if path.is_dir() else 'no such file'}")
    return path.absolute(), name


def _arguments(texts: tuple[str, ...]) -> dict[str, Argument]:
    from verifier.executor.arguments import ArgumentError, ArgumentKind, parse

    found: dict[str, Argument] = {}
    for text in texts:
        try:
            name, value = parse(text)
        except ArgumentError as error:
            raise Refusal(str(error)) from None
        if name in found:
            raise Refusal(f"argument '{name}' is given twice")
        if value.kind is ArgumentKind.FILE:
            file = str(value.value).partition(":")[0]
            if not Path(file).is_file():
                raise Refusal(f"argument '{name}': {file}: no such file")
        found[name] = value
    return found


def _grid(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) >= 1 for part in parts) or len(parts) > 3:
        raise Refusal(f"a grid is one to three positive sizes, not '{text}'")
    return tuple(int(part) for part in parts)


def _tell(reply: Reply, name: str, path: str) -> int:
    """Print what the run came to; the exit status."""
    from verifier.report.full import diagnostic_lines
    from verifier.report.sources import Sources
    from verifier.report.text import Options, write

    options = Options.for_stream(sys.stdout, version=version())
    sources = Sources()
    shown = [d for d in reply.diagnostics if d.severity != "note"]
    for diagnostic in shown:
        write([*diagnostic_lines(diagnostic, sources, options), []], sys.stdout, options)
    errors = sum(d.severity == "error" for d in shown)
    if reply.ended is not None and reply.ended[0] != "violation":
        kind, message, file, line = reply.ended
        what = f"`{name}` raises {message}" if kind in ("raised", "left") else message
        place = f"{file}:{line}: " if line else f"{file}: " if file else ""
        sys.stdout.flush()
        complain(f"{place}{what}")
        return _VIOLATED if errors else _MISUSED
    count = _number(reply.operations, "operation")
    ran, there = reply.cores or (0, 0)
    if there > 1:
        count += f" on {_number(ran, 'core')}"
    if errors:
        click.echo(f"{options.glyphs.bad} {name}: {_number(errors, 'violation')} ({count})")
        return _VIOLATED
    from verifier.dialects.registry import of_generation  # costs more than the command's start

    api = of_generation(reply.api_version).spoken(reply.api_version)
    warned = f"no errors, {_number(len(shown), 'warning')}" if shown else "no violations"
    click.echo(f"{options.glyphs.ok} {name}: {warned} ({count}, {api})")
    for number, (dtype, shape) in enumerate(reply.outputs):
        click.echo(f"  out{number}: {dtype}[{', '.join(map(str, shape))}]")
    if reply.unsettled:
        click.echo(f"  not decided in this run: {', '.join(reply.unsettled)}")
    if ran == 1 < there:
        click.echo(f"  what {there} cores do together was not run: --grid 1,{there} does")
    return _PASSED


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


__all__ = ["command"]
