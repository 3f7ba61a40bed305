"""The ``tilelint`` command: the group of subcommands, each imported only when it is used.

Starting is budgeted at 0.15 s, so nothing heavy may be imported at the top of any module here.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TextIO

import click

import verifier.dialects  # noqa: F401  # from here on it is known what a kernel looks like
from verifier.cli import signals
from verifier.cli.output import PIPE_CLOSED, Refusal, complain

INTERRUPTED = 130
FAILED = 2

#: What a full disk, a used up quota and a limit on the size of files are called.
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

#: Subcommand -> (module with a ``command``, its line in the help).
COMMANDS: Mapping[str, tuple[str, str]] = {
    "check": ("verifier.cli.check", "Prove or refute the constraints of every kernel."),
    "merge": ("verifier.cli.merge", "Make one report of several, such as the parts of a run."),
    "run": ("verifier.cli.run", "Run a kernel on numbers, and check every operation it does."),
    "layout": ("verifier.cli.layout", "Draw a tensor in a TPU's memory."),
    "kernels": ("verifier.cli.kernels", "List the kernels in files and directories."),
    "contract": ("verifier.cli.contract", "Print for which inputs each kernel is right."),
    "rules": ("verifier.cli.rules", "List the rules, or which documented fact each enforces."),
    "config": ("verifier.cli.config", "Say what is configured for a file, and where."),
    "explain": ("verifier.cli.explain", "Say what a rule demands and why, with examples."),
    "lsp": ("verifier.cli.lsp", "Serve an editor."),
}


class LazyGroup(click.Group):
    """A group that imports a subcommand's module when the subcommand is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name][0]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS:
            from verifier.cli.output import did_you_mean

            ctx.fail(f"no such command '{name}'{did_you_mean(name, COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from verifier.cli.output import version

        click.echo(f"tilelint {version()}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    name="tilelint",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Static linter and verifier for accelerator kernels written in Python.

    Reads kernels as text: nothing is imported, no SDK and no device are needed.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status; every refusal is one line on stderr.

    Without ``arguments`` this is the whole process: they are taken from the command line, and
    signals are listened to.
    """
    whole = arguments is None
    given = list(sys.argv[1:] if arguments is None else arguments)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
        elif stream is None:  # closed by whoever started this
            setattr(sys, name, io.TextIOWrapper(io.FileIO(os.devnull, "w")))
    try:
        if whole and given[:1] != ["lsp"]:  # the server has its own ways
            signals.listen()
        status = _run(given)
        sys.stdout.flush()
    except BaseException as error:
        if whole:
            signals.ignore()
        return _failed(signals.arrived() or error)
    if whole:
        signals.ignore()
    return status


def _failed(error: BaseException) -> int:
    """Say in a line what went wrong; the exit status."""
    if isinstance(error, click.UsageError):
        return _usage(error)
    if isinstance(error, click.ClickException):
        complain(error.format_message())
        return error.exit_code
    _silence(sys.stdout)
    if isinstance(error, BrokenPipeError):
        return PIPE_CLOSED
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        click.echo("\n" * sys.stderr.isatty() + "tilelint: interrupted", err=True)
        return INTERRUPTED
    if isinstance(error, signals.Ended):
        click.echo("tilelint: ended by a signal", err=True)
        return error.status
    if not isinstance(error, Exception):
        raise error
    if isinstance(error, OSError) and error.errno in _NO_SPACE:
        complain(f"cannot write {error.filename or 'the report'}: {error.strerror}")
        return FAILED
    from verifier.report.internal import describe

    complain(describe(error))
    return FAILED


def _run(arguments: list[str]) -> int:
    """Not ``cli.main``: that has its own ways with interrupts and closed pipes."""
    completion = os.environ.get("_TILELINT_COMPLETE")
    if completion:
        from click.shell_completion import shell_complete

        return shell_complete(cli, {}, "tilelint", "_TILELINT_COMPLETE", completion)
    try:
        with cli.make_context("tilelint", arguments) as context:
            cli.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    return 0


def _usage(error: click.UsageError) -> int:
    message = error.format_message().rstrip(".")
    message = message[:1].lower() + message[1:]
    if isinstance(error, Refusal):
        for line in message.split("\n"):
            complain(line)
    else:
        where = error.ctx.command_path if error.ctx else "tilelint"
        complain(f"{' '.join(message.split())} (see '{where} --help')")
    return error.exit_code


def _silence(stream: TextIO) -> None:
    """Nobody reads this stream any more: keep the interpreter from complaining at exit."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
    except (OSError, ValueError):
        return
