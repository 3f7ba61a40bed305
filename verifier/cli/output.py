"""What every subcommand shares: messages on stderr, suggestions, the version."""

from __future__ import annotations

import click

import verifier
from verifier.configuration.suggestions import did_you_mean

__all__ = ["PIPE_CLOSED", "Refusal", "complain", "did_you_mean", "remark", "version"]

PIPE_CLOSED = 141  # 128 + SIGPIPE, as a shell reports a program that wrote to a closed pipe


class Refusal(click.UsageError):
    """Bad input, told in one line per problem; exit status 2."""


def complain(message: str) -> None:
    """One line on stderr."""
    click.echo(f"tilelint: error: {message}", err=True)


def remark(message: str) -> None:
    """One line on stderr that is no mistake."""
    click.echo(f"tilelint: note: {message}", err=True)


def version() -> str:
    """The version of this checkout or installed distribution."""
    return verifier.__version__
