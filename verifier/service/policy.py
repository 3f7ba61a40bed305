"""What the settings of a file say of its check: whether, how, and what weighs what."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from verifier.configuration.formatting import LineLengths
from verifier.report.model import PRECONDITION, FileRequest, FileResult, chosen

if TYPE_CHECKING:
    from verifier.configuration.model import Resolved
    from verifier.configuration.settings import Configurations


class Policy:
    """The settings of the files that are checked together."""

    def __init__(self, configurations: Configurations) -> None:
        self.configurations = configurations
        self._of: dict[str, Resolved] = {}
        self._lengths = LineLengths()

    def settled(self, path: str) -> Resolved:
        """The settings of a file, which is one of those that are checked from now on.

        Raises:
            ConfigurationError: its configuration cannot be used.
        """
        found = self._of[_absolute(path)] = self.configurations.for_file(path)
        return found

    def renew(self) -> None:
        """Forget which files are checked, and what of their configurations has changed."""
        self._of.clear()
        self._lengths = LineLengths()
        self.configurations.refresh()

    def request(
        self,
        path: str,
        roots: Sequence[str],
        *,
        users: Sequence[str] = (),
        statistics: bool = False,
        tiles: bool = False,
        parts: bool = False,
        kernels: Sequence[str] = (),
    ) -> FileRequest:
        """What to ask of the engine for a file that is checked; see :class:`FileRequest`."""
        full = _absolute(path)
        settings = self._of[full].settings
        return FileRequest(
            path=full,
            roots=tuple(roots),
            targets=settings.targets,
            api_version=settings.api_version,
            contracts=tuple(dict.fromkeys(c.text for c in settings.contracts)),
            presets=tuple(dict.fromkeys((c.preset, c.text) for c in settings.presets)),
            select=settings.select,
            ignore=settings.ignore,
            timeout=settings.timeout,
            statistics=statistics,
            tiles=tiles,
            line_length=self._lengths.of(full),
            parts=parts or not chosen(PRECONDITION, settings.select, settings.ignore),
            users=tuple(users),
            kernels=tuple(kernels),
        )

    def selected(self, path: str) -> frozenset[str]:
        """Ids of the rules that are checked in a file: all in one that is none of those checked,
        but came in as a helper.

        What a contract from outside the configuration leaves out may need every suppression.
        """
        from verifier.rulebase import all_rules, is_checked

        known = self._of.get(_absolute(path))
        rules = {rule.id for rule in all_rules()}
        if known is not None:
            select, ignore = known.settings.select, known.settings.ignore
            rules = {rule.id for rule in all_rules() if is_checked(rule, select, ignore)}
        spared = ("unused-suppression",) if self.configurations.overrides.contracts else ()
        return frozenset(rules).difference(spared)

    def stated(self, result: FileResult, read: Callable[[str], str | None]) -> FileResult:
        """The result with one finding for the precondition of each kernel, as far as that is
        wanted."""
        if not any(k.precondition is not None and k.precondition.conjuncts for k in result.kernels):
            return result
        from verifier.service.preconditions import stated

        settings = self._of[_absolute(result.path)].settings
        return stated(
            result,
            read,
            wanted=self.wants(result.path, PRECONDITION),
            severity=settings.severity,
        )

    def wants(self, path: str, rule: str) -> bool:
        """Whether a rule is checked in a file; it is not in one that none of those checked is."""
        known = self._of.get(_absolute(path))
        return known is not None and chosen(rule, known.settings.select, known.settings.ignore)

    def weighed(self, result: FileResult) -> FileResult:
        """The result with the severities that are set for its file; errors of contracts are moved
        to where the contracts stand."""
        found = self._of[_absolute(result.path)]
        if result.errors:
            result = replace(result, errors=tuple(map(found.placed, result.errors)))
        if not found.settings.severity:
            return result
        from verifier.configuration.severity import overridden

        diagnostics = overridden(result.diagnostics, found.settings.severity)
        return replace(result, diagnostics=diagnostics)


def _absolute(path: str) -> str:
    return os.path.abspath(path)  # noqa: PTH100  (links are not followed)
