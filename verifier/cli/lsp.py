"""``tilelint lsp``."""

from __future__ import annotations

import click


@click.command("lsp")
@click.option("--stdio", is_flag=True, help="Speak over standard input and output (the only way).")
@click.option("--log", type=click.Path(dir_okay=False), metavar="FILE", help="Write a log.")
def command(stdio: bool, log: str | None) -> None:
    """Serve an editor over standard input and output, by the Language Server Protocol."""
    import logging
    import os

    from verifier.lsp.server import server

    if log is not None:
        logging.basicConfig(filename=log, level=logging.INFO)
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that is printed may end up between two messages
    server().start_io(incoming, outgoing)
