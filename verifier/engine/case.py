"""One kernel on one target, and with what it is judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from verifier.configuration.contracts import Contract
from verifier.configuration.showing import text_of
from verifier.dialects.registry import DIALECTS
from verifier.engine import obligations
from verifier.engine.generally import General, general
from verifier.engine.watchdog import Clock, Share
from verifier.hardware.catalogue import Hardware
from verifier.report import model as report
from verifier.rulebase import Rule
from verifier.solver.solver import Solver
from verifier.source.discovery import KernelEntry
from verifier.source.project import Module, Project
from verifier.source.starts import Start
from verifier.symbolic.python.entry import Request, Run, interpreted


class Unit(Struct, frozen=True):
    """One kernel on one target under one contract (or none)."""

    entry: KernelEntry
    module: Module
    api: str
    target: Hardware
    contract: Contract | None
    #: the target is the dialect's default: nobody has named one
    by_default: bool = False
    #: the calls that start it, where they are looked for
    starts: tuple[Start, ...] = ()

    def bare(self, status: report.Status) -> report.KernelReport:
        """The report before anything else is known of the kernel."""
        return report.KernelReport(
            path=str(self.entry.path),
            name=self.entry.name,
            line=self.entry.line,
            dialect=self.entry.dialect,
            api_version=self.api,
            target=self.target.name,
            status=status,
            contract="" if self.contract is None else text_of(self.contract),
        )


class Case(Struct, frozen=True):
    """A unit, what is asked of it, and the time and the solver that it has."""

    project: Project
    job: Request
    unit: Unit
    request: report.FileRequest
    solver: Solver
    clock: Clock

    def run(self) -> Run:
        """Follow the kernel."""
        clock = self.clock
        return self._followed(self.job, clock.end(Share.INTERPRET), clock.until(Share.INTERPRET))

    def _followed(
        self, job: Request, end: float, within: AbstractContextManager[None] | None = None
    ) -> Run:
        unit = self.unit
        dialect, generation = DIALECTS[unit.entry.dialect].of(unit.api)
        target, decide = unit.target, self.solver.decide
        return interpreted(self.project, dialect, target, generation, job, decide, end, within)

    def demanded(
        self, run: Run, selected: set[str], rules: Iterable[Rule]
    ) -> list[obligations.Obligation]:
        """What the selected rules demand of it."""

        @cache
        def generally() -> General | None:
            end = self.clock.once_more(Share.DEMAND)
            return general(self.job, run, lambda job: self._followed(job, end))

        within = self.clock.until(Share.DEMAND)
        target = self.unit.target
        found = obligations.of_run(run, target, selected, rules, within, generally)
        return [*map(obligations.by_default, found)] if self.unit.by_default else found

    def other(self, job: Request, clock: Clock) -> Case:
        """The same unit, followed otherwise or in another time."""
        return replace(self, job=job, clock=clock)


@contextmanager
def opened(
    project: Project, job: Request, unit: Unit, request: report.FileRequest, clock: Clock
) -> Iterator[Case]:
    """A case until its time is over, which ends the block in silence."""
    solver = Solver(deadline=clock.left(Share.CONDITION))
    try:
        with clock.until(Share.ALL):
            yield Case(project, job, unit, request, solver, clock)
    finally:
        solver.release()


__all__ = ["Case", "Unit", "opened"]
