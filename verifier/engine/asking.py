"""What is asked of a kernel: contracts, targets, and the run that a contract makes of it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from verifier.configuration.contracts import Contract, Int
from verifier.configuration.showing import text_of
from verifier.dialects.descriptor import DialectDescriptor
from verifier.dialects.registry import DIALECTS
from verifier.engine.case import Unit
from verifier.engine.contracts import ContractMismatchError, Effect
from verifier.engine.memo import Outcome
from verifier.hardware.catalogue import Hardware
from verifier.report import model as report
from verifier.source import ir
from verifier.source.discovery import (
    Enclosing,
    KernelEntry,
    enclosing_functions,
    kernel_definition,
)
from verifier.source.inputs import input_names
from verifier.source.project import Module, Project
from verifier.source.wrappers import Named
from verifier.symbolic import expr as E
from verifier.symbolic.python.entry import Request, inputs_of
from verifier.symbolic.python.inputs import packs
from verifier.symbolic.python.pins import NamedPin, Pin, ValuePin


def contracts_for(
    module: Module,
    entry: KernelEntry,
    request: report.FileRequest,
    comments: Mapping[str, list[tuple[int, str]]],
    errors: list[report.FileError],
) -> list[tuple[str, Contract]]:
    """What is to be checked one by one: the preset (empty: none) and the contract."""
    if not (request.contracts or request.presets or comments):
        return []
    # the grammar takes time to load
    from verifier.configuration.grammar import ContractError, parse

    out: list[tuple[str, Contract]] = []
    for preset, text in (*(("", text) for text in request.contracts), *request.presets):
        contract = parse(text)
        if contract.kernel in (entry.name, entry.name.rpartition(".")[2]):
            out.append((preset, contract))
    for line, text in () if request.given_only else comments.get(entry.name, ()):
        try:
            out.append(("", parse(text, comment=True)))
        except ContractError as error:
            errors.append(report.FileError(str(module.path), line, str(error), "usage"))
    return out


def targets_for(
    dialect: DialectDescriptor,
    module: Module,
    entry: KernelEntry,
    request: report.FileRequest,
    contract: Contract | None,
) -> list[tuple[Hardware, bool]]:
    """What a kernel is checked for, and whether that is the default, as nobody names a target.

    Targets of a contract are all that it is for: those of them that are asked for, else all.
    """
    sizes = contract.grid if contract is not None else ()
    grid = [size.value for size in sizes if isinstance(size, Int)]
    grid = grid if len(grid) == len(sizes) else []
    wanted = request.targets
    if contract is not None and contract.targets:
        wanted = tuple(name for name in wanted if name in contract.targets) or contract.targets
    told = wanted, entry.name, module.syntax, entry.keywords, grid
    named = dialect.named(*told)
    return [(target, not named) for target in named or dialect.targets(*told)]


def asked(project: Project, unit: Unit) -> Request | None:
    """What is to be run of a kernel under its contract, in a new context; None: it is not there.

    Raises:
        SourceError: it cannot be read.
        ContractMismatchError: the contract does not fit it.
    """
    entry = unit.entry
    definition = kernel_definition(project, entry)
    enclosing = enclosing_functions(project, entry) if entry.nested else ()
    if definition is None:
        return None
    effect: Effect | None = None
    declared = _with_inputs(project, unit, definition, enclosing)
    E.fresh_context()
    if unit.contract is not None:
        _for_target(unit, unit.contract)
        outer = [e.definition for e in enclosing]
        inputs = input_names(project, unit.module, declared)
        packed = packs(unit.target, unit.module)
        effect = Effect(unit.contract, declared, outer, inputs, packed)
    return Request(
        name=entry.name,
        definition=definition,
        module=unit.module,
        enclosing=enclosing,
        pinned={**_bound(entry), **(effect.pinned if effect is not None else {})},
        grid=effect.grid if effect is not None else None,
        site=entry.site,
        conditions=tuple(effect.conditions) if effect is not None else (),
    )


def _with_inputs(
    project: Project, unit: Unit, definition: ir.FunctionDef, enclosing: tuple[Enclosing, ...]
) -> ir.FunctionDef:
    """The definition with the parameters of what is launched, for contracts to speak of."""
    entry = unit.entry
    if entry.site is None or unit.contract is None:
        return definition
    bare = Request(entry.name, definition, unit.module, enclosing, site=entry.site)
    dialect, generation = DIALECTS[entry.dialect].of(unit.api)
    E.fresh_context()
    params = inputs_of(project, dialect, unit.target, generation, bare)
    return replace(definition, params=params) if params else definition


def _for_target(unit: Unit, contract: Contract) -> None:
    """
    Raises:
        ContractMismatchError: the contract is for hardware that does not run the kernel.
    """
    if contract.targets and unit.target.name not in contract.targets:
        label = DIALECTS[unit.entry.dialect].label
        raise ContractMismatchError(f"no kernel of {label} runs on {' or '.join(contract.targets)}")


def _bound(entry: KernelEntry) -> dict[str, Pin]:
    """What arguments are that are given before the launch."""
    return {
        name: NamedPin(value.path) if isinstance(value, Named) else ValuePin(value)
        for name, value in entry.bound
    }


def unfit(unit: Unit, mismatch: ContractMismatchError, errors: list[report.FileError]) -> Outcome:
    """The result under a contract that does not fit its kernel."""
    assert unit.contract is not None
    about = text_of(unit.contract)
    place = str(unit.entry.path), unit.entry.line
    errors.append(report.FileError(*place, f"contract `{about}`: {mismatch}", "usage", about))
    return Outcome(unit.bare("error"))
