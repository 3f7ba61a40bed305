"""What every subcommand shares: messages on stderr, suggestions, the version."""

from __future__ import annotations

import contextlib

import click

import verifier
from verifier.configuration.suggestions import did_you_mean

__all__ = ["PIPE_CLOSED", "STATUSES", "Refusal", "complain", "did_you_mean", "remark", "version"]

PIPE_CLOSED = 141  # 128 + SIGPIPE, as a shell reports a program that wrote to a closed pipe

#: What the exit status of the command means.
STATUSES = {
    "0": "Nothing to report.",
    "1": "At least one error-level finding; with `--strict` also a warning or something undecided.",
    "2": "Bad usage, a configuration or a file that cannot be read, a report that cannot be "
    "written, or an internal error. The other files' results are printed all the same.",
    "130, 143, 129": "Ended by Ctrl-C, SIGTERM or SIGHUP.",
    "141": "Whoever read the output went away before its end.",
}


class Refusal(click.UsageError):
    """Bad input, told in one line per problem; exit status 2."""


def complain(message: str) -> None:
    """One line on stderr."""
    _say(f"tilelint: error: {message}")


def remark(message: str) -> None:
    """One line on stderr that is no mistake."""
    _say(f"tilelint: note: {message}")


def _say(line: str) -> None:
    with contextlib.suppress(OSError):  # nobody reads it, or the disk is full
        click.echo(line, err=True)


def version() -> str:
    """The version of this checkout or installed distribution."""
    return verifier.__version__
