"""The options that settle the same things as the configuration file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from verifier.configuration.settings import Configurations

F = TypeVar("F", bound=Callable[..., Any])

#: Their names are the fields of :class:`verifier.configuration.model.Overrides`.
_SETTINGS = (
    click.option(
        "--target",
        "targets",
        multiple=True,
        metavar="NAME",
        help="Hardware to check for: trn2, bm1690 ... (repeatable; default: of the kernel's "
        "family).",
    ),
    click.option(
        "--api-version",
        metavar="VERSION",
        help="NKI generation: beta1, 0.2 .. 0.6 (default: inferred for each file).",
    ),
    click.option("--select", multiple=True, metavar="RULES", help="Check these rules only."),
    click.option("--ignore", multiple=True, metavar="RULES", help="Leave these rules out."),
    click.option(
        "--contract",
        "contracts",
        multiple=True,
        metavar="SPEC",
        help="Narrow a kernel's inputs, e.g. 'gemm(a: bf16[K, M]) where K % 128 == 0' "
        "(repeatable).",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help="Time limit for each kernel, of computing (default: 60).",
    ),
    click.option(
        "--jobs",
        type=click.IntRange(min=1),
        metavar="N",
        help="Worker processes (default: the cores available).",
    ),
    click.option(
        "--strict/--no-strict",
        default=None,
        help="Exit with 1 on warnings and unknowns, too.",
    ),
    click.option(
        "--cache-dir",
        type=click.Path(),
        metavar="DIRECTORY",
        help="Where results are kept between runs (default: the user's cache directory).",
    ),
    click.option(
        "--config",
        type=click.Path(),
        metavar="FILE",
        help="Use this configuration file for every file, in place of the nearest ones.",
    ),
    click.option("--isolated", is_flag=True, help="Use no configuration file."),
)


def settings(command: F) -> F:
    """Give a command the options; it passes them all to :func:`configurations`."""
    for option in reversed(_SETTINGS):
        command = option(command)
    return command


def configurations(said: dict[str, Any]) -> Configurations:
    """The configurations under what the command line says.

    Raises:
        Refusal: it says something that cannot be used.
    """
    from verifier.cli.output import Refusal
    from verifier.configuration.model import ConfigurationError, Overrides
    from verifier.configuration.settings import Configurations

    if said["isolated"] and said["config"]:
        raise Refusal("--config and --isolated exclude each other")
    try:
        return Configurations(Overrides(**said))
    except ConfigurationError as error:
        raise Refusal(str(error)) from error
