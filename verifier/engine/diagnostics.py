"""From verdicts to what the user reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from verifier.dialects.registry import cited
from verifier.engine.gathering import Verdict, VerdictKind
from verifier.engine.wording import in_own_names, own_names
from verifier.report import model as report
from verifier.report.details import AGAIN, POSSIBLE
from verifier.report.spans import span_of, subject_of
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.pretty import name as shown
from verifier.symbolic.pretty import pretty, python
from verifier.symbolic.python.entry import Run
from verifier.symbolic.python.inputs import (
    MAX_RANK,
    InputKind,
    Parameter,
    absent_name,
    left_out,
    truth_name,
)
from verifier.symbolic.python.pins import (
    NO_STRING,
    ChoicePin,
    IntegerPin,
    NamedPin,
    ObjectPin,
    RangePin,
    SequencePin,
    ValuePin,
    item_path,
    option_key,
)
from verifier.symbolic.tensors import DType, Mark
from verifier.symbolic.values import Ref

#: characters of a precondition that somebody may write down
_LONGEST = 233


def build(
    verdict: Verdict, run: Run, target: str, wanted: Bool | None = None, *, part: bool = False
) -> report.Diagnostic:
    """The diagnostic of a violated or undecided obligation, in the kernel's names for its sizes.

    ``wanted`` is what can be asserted against it. ``part``: the kernel's precondition stands for
    it.
    """
    names = own_names(run)
    obligation = verdict.obligation
    check, rule = obligation.check, obligation.rule
    unknown = verdict.kind is VerdictKind.UNKNOWN
    kind: report.Verdict = (
        "unknown" if unknown else "always" if verdict.kind is VerdictKind.ALWAYS else "sometimes"
    )
    model = verdict.model or {}
    notes = list(_values(check.values, model, names)) if verdict.model else []
    notes += [
        f"`{name}` is left out" for name in run.inputs.parameters if model.get(left_out(name))
    ]
    notes += _indices(obligation.check.predicate, obligation.trips, model)
    again = verdict.others if obligation.rule.once else ()
    if verdict.others and not again:
        lines = sorted({place.line for place in verdict.others} - {check.span.line})
        if lines:
            listed = ", ".join(map(str, lines[:8])) + (", ..." if len(lines) > 8 else "")
            notes.append(f"the same inputs break it at line {listed}; this is the tightest place")
    assertion = in_own_names(check.assertion, names) if kind != "always" else ""
    if verdict.precondition is not None and verdict.precondition is not E.FALSE:
        # a formula that is shortened, or that nobody can read, is none to write
        advised = wanted is not None and wanted is not E.TRUE and "..." not in pretty(wanted)
        assertion = python(wanted, names) if wanted is not None and advised else ""
        assertion = assertion if len(assertion) <= _LONGEST else ""
    message = in_own_names(check.message, names)
    return report.Diagnostic(
        rule=rule.id,
        name=rule.summary,
        severity=severity(verdict),
        verdict=kind,
        message=f"{POSSIBLE}{message}" if unknown else message,
        span=span_of(check.span),
        kernel=run.trace.kernel,
        claim=check.message,
        subject=subject_of(check.subject),
        facts=cited(check.facts or rule.facts, run.trace.dialect),
        predicate=in_own_names(check.text, names),
        counterexample=counterexample(run, model) if verdict.model is not None else None,
        structures=structures(run) if verdict.model is not None else (),
        notes=tuple(notes),
        labels=(
            *(report.Label(span_of(n.span), in_own_names(n.text, names)) for n in check.notes),
            *(report.Label(span_of(place), AGAIN) for place in again),
        ),
        undecided=in_own_names(verdict.reason, names) if unknown else "",
        help=tuple(in_own_names(text, names) for text in check.help),
        assertion=assertion,
        targets=(target,),
        part=part,
    )


def severity(verdict: Verdict) -> report.Severity:
    """Error if it always fails, is meant to be excluded, or goes wrong silently; else warning."""
    if verdict.kind is VerdictKind.UNKNOWN:
        return "note"
    cap = verdict.cap
    if cap in ("warning", "note"):
        return "warning" if cap == "warning" else "note"
    if verdict.kind is VerdictKind.ALWAYS or verdict.said or verdict.silent:
        return "error"
    return "warning"


#: longest list that is shown whole
_LONG: Final = 64

_Model = Mapping[str, "int | bool"]


def counterexample(run: Run, model: _Model) -> dict[str, report.Value]:
    """The inputs of a counterexample, tensors by whole shapes, in the order of the parameters."""
    out: dict[str, report.Value] = {}
    symbols = {sym.name: sym for sym in _symbols(run)}
    for name, parameter in run.inputs.parameters.items():
        if any(isinstance(out.get(outer), list) for outer in _outer(name)):
            continue  # it is shown as part of the whole tuple
        whole = _whole(run, parameter, model, symbols)
        if whole is not None:
            out[name] = whole
        elif model.get(absent_name(name)):
            out[name] = None
        else:
            out.update(_input(run, parameter, model, symbols))
    for name, value in model.items():
        if name.startswith(("num_programs(", "get_core_num(", "get_group_num(")):
            out[name] = int(value)
    for count, loop in zip(run.trace.grid_counts, run.trace.grid, strict=True):
        if loop.trips.is_const:  # a contract says how many there are
            out[count] = loop.trips.const
    return out


def _outer(path: str) -> Iterator[str]:
    """The tuples that an input is an item of, the outermost first."""
    for position, letter in enumerate(path):
        if letter == "[":
            yield path[:position]


def _whole(
    run: Run, parameter: Parameter, model: _Model, symbols: Mapping[str, Sym]
) -> list[report.Value] | None:
    """A tuple like the default, of which a counterexample needs some items: all of it.

    None: nothing is asked of it, or what an item is cannot be written as a plain value.
    """
    name, default = parameter.name, parameter.default
    if parameter.pinned is not None or not isinstance(default, tuple):
        return None
    if f"len({name})" in model or not any(f"{name}[" in key for key in model):
        return None
    items: list[report.Value] = []
    for position, item in enumerate(default):
        path = item_path(name, position)
        part = run.inputs.parameters.get(path) or Parameter(path, parameter.span, item)
        if isinstance(item, (bool, Bool)):
            part.kind = InputKind.FLAG
        absent = model.get(absent_name(path))
        if absent:
            items.append(None)
        elif path in model:
            items.append(_plain(run, path, model[path], part.kind, symbols.get(path)))
        elif absent is not None and part.kind in (None, InputKind.INTEGER):
            items.append(0)  # anything but None
        else:
            inner = _whole(run, part, model, symbols)
            known = _as_written(item) if inner is None else [inner]
            if not known or any(f"{path}." in key for key in model):
                return None
            items.append(known[0])
    return items


def _as_written(item: object) -> list[report.Value]:
    """The plain value that an item of a default is, alone in a list; empty if it is none."""
    if isinstance(item, tuple):
        parts = [_as_written(part) for part in item]
        return [[part[0] for part in parts]] if all(parts) else []
    if isinstance(item, Expr):
        return [item.const] if item.is_const else []
    if isinstance(item, Bool):
        return [item is E.TRUE] if item in (E.TRUE, E.FALSE) else []
    if isinstance(item, DType):
        return [] if item.name is None else [item.name]
    return [item] if item is None or isinstance(item, (bool, float, str)) else []


def _input(
    run: Run, parameter: Parameter, model: _Model, symbols: Mapping[str, Sym]
) -> dict[str, report.Value]:
    """One input of a counterexample; nothing if it does not matter what it is."""
    name = parameter.name
    pin = parameter.pinned
    if isinstance(pin, ChoicePin):
        chosen = _option(run, parameter, pin, model)
        if chosen is not None:
            return {name: _said(chosen)}
    extents = _extents(run, parameter, model) if parameter.kind is InputKind.TENSOR else ()
    if extents:
        return _tensor(parameter, extents, model, symbols)
    if parameter.address is not None and parameter.address.storage.marks.get(Mark.DECLARED):
        storage = parameter.address.storage
        out: dict[str, report.Value] = {
            f"{name}.shape": [_number(extent, model) for extent in storage.shape]
        }
        if storage.dtype.name is not None:
            out[f"{name}.dtype"] = storage.dtype.name
        return out
    if isinstance(pin, (RangePin, IntegerPin)) and name not in model:
        least = run.inputs.integer(parameter)
        return {name: max(E.bounds(least)[0] or 0, 0)}
    if name in model:
        return {name: _plain(run, name, model[name], parameter.kind, symbols.get(name))}
    if truth_name(name) in model and parameter.kind in (None, InputKind.FLAG):
        return {name: bool(model[truth_name(name)])}
    length = int(model.get(f"len({name})", 0))
    if f"len({name})" in model and length <= _LONG:
        return {name: [int(model.get(f"{name}[{k}]", 0)) for k in range(length)]}
    if f"{name}[0]" in model:
        items: list[report.Value] = []
        while f"{name}[{len(items)}]" in model:
            items.append(int(model[f"{name}[{len(items)}]"]))
        return {name: items}
    return {name: _said(pin)} if isinstance(pin, (ValuePin, NamedPin)) else {}


def _said(pin: ValuePin | NamedPin) -> report.Value:
    return ".".join(pin.path) if isinstance(pin, NamedPin) else pin.value


def _option(
    run: Run, parameter: Parameter, pin: ChoicePin, model: _Model
) -> ValuePin | NamedPin | None:
    """Which of several values an input is, None: the tensor that it may be too.

    Where it does not matter it is the first that there is.
    """
    code = model.get(parameter.name)
    for option in pin.options:
        if code is not None and run.inputs.strings.get(option_key(option)) == code:
            return option
    return None if pin.tensor is not None else pin.options[0]


def structures(run: Run) -> tuple[report.Structure, ...]:
    """How the inputs are put together that a contract declares."""
    out = []
    for path, pin in run.inputs.pinned.items():
        if isinstance(pin, ObjectPin):
            name = ".".join(pin.path)
            out.append(report.Structure(path, "object", name, pin.count, pin.keywords))
        elif isinstance(pin, SequencePin):
            form: Literal["list", "tuple"] = "list" if pin.is_list else "tuple"
            out.append(report.Structure(path, form, arguments=pin.count))
        elif isinstance(pin, NamedPin):
            out.append(report.Structure(path, "name", ".".join(pin.path)))
        elif isinstance(pin, ChoicePin) and any(isinstance(x, NamedPin) for x in pin.options):
            out.append(report.Structure(path, "name"))
    for path, p in run.inputs.parameters.items():
        if p.kind is InputKind.STRING and p.pinned is None and isinstance(p.default, Ref):
            out.append(report.Structure(path, "name"))  # a member of an enumeration
    return tuple(out)


def _tensor(
    parameter: Parameter, extents: Sequence[Expr], model: _Model, symbols: Mapping[str, Sym]
) -> dict[str, report.Value]:
    name = parameter.name
    out: dict[str, report.Value] = {f"{name}.shape": [_number(extent, model) for extent in extents]}
    dtype = model.get(f"{name}.dtype")
    pinned = parameter.declared.dtype if parameter.declared is not None else None
    if dtype is not None:
        out[f"{name}.dtype"] = _named(symbols.get(f"{name}.dtype"), dtype)
    elif pinned is not None:
        out[f"{name}.dtype"] = pinned
    return out


def _extents(run: Run, parameter: Parameter, model: _Model) -> tuple[Expr, ...]:
    """The shape of a tensor; nothing if it does not matter how many dimensions it has."""
    name, inputs = parameter.name, run.inputs
    count = inputs.rank_symbol(parameter)
    if count.is_const:
        return inputs.shape(parameter, count.const)
    used = [axis for axis in range(MAX_RANK) if f"{name}.shape[{axis}]" in model]
    least = max(used, default=-1) + 1
    rank = model.get(f"{name}.rank", parameter.rank)
    if rank is None:
        rank = max(parameter.views, default=least)
    view = parameter.views.get(int(rank))  # a pointer is what it is declared as
    return view.shape if view is not None else inputs.shape(parameter, max(int(rank), least))


def _symbols(run: Run) -> list[Sym]:
    names: list[Sym] = []
    for parameter in run.inputs.parameters.values():
        if parameter.kind is InputKind.TENSOR:
            names.extend(run.inputs.dtype(parameter).code.free())
        if parameter.kind is InputKind.DTYPE:
            names.extend(run.inputs.as_dtype(parameter).code.free())
    return names


def _plain(
    run: Run, name: str, value: int | bool, kind: InputKind | None, symbol: Sym | None
) -> report.Value:
    if kind is InputKind.DTYPE:
        return _named(symbol, value)
    if kind is InputKind.STRING:
        for text, code in run.inputs.strings.items():
            if code == value and not text.startswith(NO_STRING):
                return text
        return "another value"
    return bool(value) if kind is InputKind.FLAG else int(value)


def _named(symbol: Sym | None, value: int | bool) -> report.Value:
    if symbol is not None and symbol.domain is not None and 0 <= value < len(symbol.domain):
        return symbol.domain[int(value)]
    return int(value)


def _number(extent: Expr, model: Mapping[str, int | bool]) -> int:
    env: dict[str, int | bool] = dict(model)
    for sym in extent.free():
        env.setdefault(sym.name, sym.lo if sym.lo is not None else 1)
    try:
        return int(E.evaluate(extent, env))
    except E.EvaluationError:
        return 1


_LONGEST_FORMULA = 160


def _values(
    values: tuple[tuple[str, Expr], ...],
    model: Mapping[str, int | bool],
    names: Mapping[Sym, str],
) -> list[str]:
    out = []
    for name, value in values:
        name = in_own_names(name, names)
        if value.is_const:
            out.append(f"{name} is {value.const}")
            continue
        try:
            number = E.evaluate(value, model)
        except E.EvaluationError:
            continue
        text = in_own_names(pretty(value), names)
        # A formula of several lines (a dtype that is promoted, say) tells less than its value, and
        # so does one of places in a tensor that no name stands for.
        unnamed = any(symbol.origin is E.Origin.AXIS for symbol in value.free())
        plain = text == name or len(text) > _LONGEST_FORMULA or unnamed
        out.append(f"{name} is {number}" if plain else f"{name} is {text} = {number}")
    return out


def _indices(
    predicate: Bool, trips: tuple[Expr, ...], model: Mapping[str, int | bool]
) -> list[str]:
    """Which iteration fails."""
    parts = [
        f"{shown(sym)} = {model[sym.name]}"
        for sym in predicate.free()
        if sym.origin is E.Origin.LOOP and sym.name in model
    ]
    return [f"at {', '.join(parts)}"] if parts else []
