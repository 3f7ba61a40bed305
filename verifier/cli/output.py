"""What every subcommand shares: messages on stderr, suggestions, the version."""

from __future__ import annotations

import contextlib

import click

import verifier
from verifier.configuration.suggestions import did_you_mean

__all__ = ["PIPE_CLOSED", "Refusal", "complain", "did_you_mean", "remark", "version"]

PIPE_CLOSED = 141  # 128 + SIGPIPE, as a shell reports a program that wrote to a closed pipe


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
