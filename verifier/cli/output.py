"""What every subcommand shares: messages on stderr, suggestions, the version."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import click

import verifier

PIPE_CLOSED = 141  # 128 + SIGPIPE, as a shell reports a program that wrote to a closed pipe


class Refusal(click.UsageError):
    """Bad input, told in one line per problem; exit status 2."""


def complain(message: str) -> None:
    """One line on stderr."""
    click.echo(f"tilelint: error: {message}", err=True)


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """``; did you mean 'x'?``, or nothing when no candidate is near."""
    known = {candidate.lower(): candidate for candidate in candidates}
    close = difflib.get_close_matches(word.lower(), known, 1, 0.5)
    return f"; did you mean '{known[close[0]]}'?" if close else ""


def version() -> str:
    """The version of this checkout or installed distribution."""
    return verifier.__version__
