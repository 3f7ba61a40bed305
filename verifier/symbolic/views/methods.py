"""Methods of tensors that give other views: permutations, broadcasts, splits (NKI-X20 to NKI-X30).

What a method demands is the rule ``view-precondition``; the fact says which method. ``dim`` may be
negative. On chip the partition dimension never moves, splits or repeats (NKI-P13).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import FALSE, Bool, Expr, Substitution
from verifier.symbolic.machine import Machine
from verifier.symbolic.pretty import factor, operand
from verifier.symbolic.tensors import Axis, DType, View
from verifier.symbolic.values import Register, SliceValue
from verifier.symbolic.views.basic import METHOD_RULE, subscript
from verifier.symbolic.views.common import inexact, is_one, product, rewrite, within_extent
from verifier.symbolic.views.reshaping import (
    evenly,
    of_one_way,
    refactor,
    resolve_shape,
    stride_of,
)

RULE = METHOD_RULE

#: memories in which indices may lie, as far as is known
_KNOWN_SBUF = (Buffer.SBUF, Buffer.UNKNOWN)


def _demand(
    machine: Machine,
    view: View,
    predicate: Bool,
    text: str,
    what: str,
    fact: str,
    span: Span,
    values: tuple[tuple[str, Expr], ...] = (),
) -> None:
    machine.check(
        RULE, predicate, span, text, f"{what} of `{view.name}`", facts=(fact,), values=values
    )


def _position(
    machine: Machine, view: View, dim: int, what: str, fact: str, span: Span, extra: int = 0
) -> int | None:
    """The dimension counted from the front; None, after a failing check, if there is none."""
    rank = view.rank + extra
    place = dim + rank if dim < 0 else dim
    if 0 <= place < rank:
        return place
    _demand(
        machine, view, FALSE, f"-{rank} <= {dim} < {rank}", f"{what} of no dimension", fact, span
    )
    return None


def _not_partition(
    machine: Machine, view: View, dim: int, what: str, fact: str, span: Span
) -> None:
    if view.buffer.on_chip:
        _demand(
            machine,
            view,
            E.truth(dim != 0),
            "dimension != 0",
            f"{what} of the partition dimension",
            fact,
            span,
        )


def permute(machine: Machine, view: View, dims: Sequence[int], span: Span) -> View:
    """``permute(dims)``: axis ``k`` of the result is axis ``dims[k]`` (NKI-X20)."""
    order = [dim + view.rank if dim < 0 else dim for dim in dims]
    valid = sorted(order) == list(range(view.rank))
    _demand(
        machine,
        view,
        E.truth(valid),
        f"{tuple(dims)} is a permutation of {view.rank} dimensions",
        "permute with wrong dimensions",
        "NKI-X20",
        span,
    )
    if not valid:
        return view
    if view.buffer.on_chip and order:
        _demand(
            machine,
            view,
            E.truth(order[0] == 0),
            "dims[0] == 0",
            "permute moves the partition dimension",
            "NKI-X20",
            span,
        )
    return replace(view, axes=tuple(view.axes[dim] for dim in order), span=span)


def broadcast(machine: Machine, view: View, dim: int, size: Expr, span: Span) -> View:
    """``broadcast(dim, size)``: repeat a dimension of extent 1, with stride 0 (NKI-X21)."""
    place = _position(machine, view, dim, "broadcast", "NKI-X21", span)
    if place is None:
        return view
    _not_partition(machine, view, place, "broadcast", "NKI-X21", span)
    extent = view.axes[place].size
    _demand(
        machine,
        view,
        E.ge(size, 1),
        f"{operand(size)} >= 1",
        f"broadcast to no elements of dimension {place}",
        "NKI-X21",
        span,
        (("size", size),),
    )
    _demand(
        machine,
        view,
        E.eq(extent, 1),
        f"{operand(extent)} == 1",
        f"broadcast of dimension {place}, which is longer than 1,",
        "NKI-X21",
        span,
        (("extent", extent),),
    )
    return _repeat(machine, view, place, size, span)


def _repeat(machine: Machine, view: View, place: int, size: Expr, span: Span) -> View:
    axes = list(view.axes)
    zero = Substitution({axes[place].symbol: E.const(0)})
    axes[place] = machine.axis(size)
    return replace(rewrite(view, zero, axes), broadcast=True, span=span)


def broadcast_to(machine: Machine, view: View, shape: Sequence[Expr], span: Span) -> View:
    """``broadcast_to(shape)``: NumPy's rule, aligned on the right, extents 1 repeat.

    Repeating the partition dimension is left to the operation that uses the result.
    """
    lead = len(shape) - view.rank
    if lead < 0:
        _demand(
            machine,
            view,
            FALSE,
            f"{view.rank} <= {len(shape)}",
            "broadcast to fewer dimensions",
            "NKI-X21",
            span,
        )
        return view
    axes: list[Axis] = []
    replacement: dict[E.Sym, Expr] = {}
    repeated = False
    for k, size in enumerate(shape):
        old = view.axes[k - lead] if k >= lead else None
        if old is not None and (old.size is size or not is_one(old.size)):
            if old.size is not size:
                _demand(
                    machine,
                    view,
                    E.or_(E.eq(old.size, size), E.eq(old.size, 1)),
                    f"{operand(old.size)} == {operand(size)}",
                    f"broadcast changes dimension {k - lead}",
                    "NKI-X21",
                    span,
                    (("extent", old.size), ("new extent", size)),
                )
            axes.append(Axis(old.symbol, size))
            continue
        repeated = True
        if old is not None:
            replacement[old.symbol] = E.const(0)
        axes.append(machine.axis(size))
    out = rewrite(view, Substitution(replacement), axes)
    return replace(out, broadcast=view.broadcast or repeated, span=span)


def expand_dim(machine: Machine, view: View, dim: int, span: Span) -> View:
    """``expand_dim(dim)`` (or ``expand_dims``): a new dimension of extent 1 before ``dim``
    (NKI-X22).
    """
    place = _position(machine, view, dim, "expand_dim", "NKI-X22", span, extra=1)
    if place is None:
        return view
    _not_partition(machine, view, place, "expand_dim", "NKI-X22", span)
    axes = list(view.axes)
    axes.insert(place, machine.axis(E.const(1)))
    return replace(view, axes=tuple(axes), span=span)


def squeeze_dim(machine: Machine, view: View, dim: int, span: Span) -> View:
    """``squeeze_dim(dim)``: drop a dimension of extent 1 (NKI-X22)."""
    place = _position(machine, view, dim, "squeeze_dim", "NKI-X22", span)
    if place is None:
        return view
    _not_partition(machine, view, place, "squeeze_dim", "NKI-X22", span)
    axis = view.axes[place]
    _demand(
        machine,
        view,
        E.eq(axis.size, 1),
        f"{operand(axis.size)} == 1",
        f"squeeze_dim of dimension {place}, which is longer than 1,",
        "NKI-X22",
        span,
        (("extent", axis.size),),
    )
    zero = Substitution({axis.symbol: E.const(0)})
    axes = [other for k, other in enumerate(view.axes) if k != place]
    return replace(rewrite(view, zero, axes), span=span)


def reshape_dim(machine: Machine, view: View, dim: int, shape: Sequence[Expr], span: Span) -> View:
    """``reshape_dim(dim, shape)``: split one dimension; one -1 allowed (NKI-X23)."""
    place = _position(machine, view, dim, "reshape_dim", "NKI-X23", span)
    if place is None:
        return view
    axis = view.axes[place]
    what = f"dimension {place} of `{view.name}`"
    sizes = resolve_shape(machine, axis.size, shape, what, span)
    if any(not is_one(size) for size in sizes[1:]) or not sizes:
        _not_partition(machine, view, place, "reshape_dim", "NKI-X23", span)
    axes = [machine.axis(size) for size in sizes]
    index = E.const(0)
    for fresh in axes:
        index = index * fresh.size + fresh.index
    result = [*view.axes[:place], *axes, *view.axes[place + 1 :]]
    return replace(rewrite(view, Substitution({axis.symbol: index}), result), span=span)


def flatten_dims(machine: Machine, view: View, first: int, last: int, span: Span) -> View:
    """``flatten_dims(first, last)``: merge contiguous dimensions, both ends included (NKI-X24)."""
    a = _position(machine, view, first, "flatten_dims", "NKI-X24", span)
    b = _position(machine, view, last, "flatten_dims", "NKI-X24", span)
    if a is None or b is None:
        return view
    if a >= b:
        _demand(
            machine,
            view,
            E.truth(a == b),
            f"{a} <= {b}",
            "flatten_dims with its ends swapped",
            "NKI-X24",
            span,
        )
        return view
    _not_partition(machine, view, a, "flatten_dims", "NKI-X24", span)
    sizes = [axis.size for axis in view.axes]
    sizes[a : b + 1] = [product(sizes[a : b + 1])]
    out = refactor(machine, view, sizes)
    if view.exact and not out.exact and not (view.buffer.on_chip and a == 0):
        even, _ = evenly(machine, view, sizes)
        _demand(
            machine,
            view,
            even,
            "stride[k] == stride[k + 1] * shape[k + 1]",
            f"dimensions {a} to {b} are not contiguous: flatten_dims",
            "NKI-X24",
            span,
            tuple((f"extent of dimension {k}", view.axes[k].size) for k in range(a, b + 1)),
        )
        out = of_one_way(machine, view, sizes) or out
    return replace(out, span=span)


def slice_dim(
    machine: Machine,
    view: View,
    dim: int,
    start: object,
    end: object,
    step: object,
    span: Span,
    *,
    generation: str,
) -> View:
    """``slice(dim, start, end, step=1)`` (NKI-X27)."""
    place = _position(machine, view, dim, "slice", "NKI-X27", span)
    if place is None:
        return view
    index = (*[SliceValue(None, None, None)] * place, SliceValue(start, end, step))
    return subscript(machine, view, index, span, generation=generation, facts=("NKI-X27",))


def select(
    machine: Machine, view: View, dim: int, index: object, span: Span, *, generation: str
) -> View:
    """``select(dim, index)``: drop a dimension (NKI-X28). A runtime index gives an indirect
    view.
    """
    place = _position(machine, view, dim, "select", "NKI-X28", span)
    if place is None:
        return view
    _not_partition(machine, view, place, "select", "NKI-X28", span)
    if isinstance(index, (View, Register)):
        _demand(
            machine,
            view,
            E.truth(not view.indirect),
            "one index that is known at run time only",
            "a second dynamic select",
            "NKI-X28" if view.rows_from is None else "NKI-X29",
            span,
        )
    items = (*[SliceValue(None, None, None)] * place, index)
    return subscript(machine, view, items, span, generation=generation, facts=("NKI-X28",))


def vector_select(machine: Machine, view: View, dim: int, offsets: View, span: Span) -> View:
    """``vector_select(dim, offsets)``: gather rows of an HBM tensor (NKI-X29)."""
    count = offsets.partitions
    _demand(
        machine,
        view,
        E.truth(dim == 0 and not view.buffer.on_chip and not view.indirect),
        "dim == 0 of a tensor in HBM that is not indirect",
        "vector_select",
        "NKI-X29",
        span,
    )
    one_per_row(machine, view, offsets, None, ("NKI-X29",), span)
    placed = within_extent(view, offsets, 0, f"runtime rows of `{view.name}`", span)
    axes = (machine.axis(count), *view.axes[1:])
    return replace(
        inexact(view, axes, "the rows are known at run time only", indirect=True),
        span=span,
        indices=(*view.indices, offsets),
        placed=(*view.placed, placed),
        rows_from=offsets,
    )


def one_per_row(
    machine: Machine,
    view: View,
    offsets: View,
    rows: Expr | None,
    facts: tuple[str, ...],
    span: Span,
) -> None:
    """The indices of a gather lie in SBUF, one in each partition: as many as there are ``rows``."""
    found = [(E.truth(offsets.buffer in _KNOWN_SBUF), "the indices lie in SBUF")]
    found.append((E.eq(offsets.free, 1), "one index per partition"))
    if rows is not None:
        found.append((E.eq(offsets.partitions, rows), "as many indices as rows"))
    for predicate, text in found:
        machine.check(RULE, predicate, span, text, f"the indices into `{view.name}`", facts=facts)


def view_dtype(machine: Machine, view: View, dtype: DType, span: Span) -> View:
    """``view(dtype)``: the same bytes as another type; the last extent scales (NKI-X30).

    The new element size must be known relative to the old one for the result to be exact.
    """
    if view.indirect:
        _demand(
            machine,
            view,
            E.FALSE,
            "no index of the device picks from it",
            "view as another type of what an index of the device picks",
            "NKI-X30",
            span,
        )
    old, new = view.dtype.itemsize, dtype.itemsize
    if old is new:
        return replace(view, dtype=dtype, span=span)
    if not view.axes:
        return inexact(replace(view, dtype=dtype), (), "a reinterpreted scalar")
    last = view.axes[-1]
    size = E.floordiv(last.size * old, new)
    _demand(
        machine,
        view,
        E.eq(E.mod(last.size * old, new), 0),
        f"{factor(last.size)} * {factor(old)} % {factor(new)} == 0",
        "view as a type whose size does not divide the last dimension",
        "NKI-X30",
        span,
        (("last extent", last.size), ("old itemsize", old), ("new itemsize", new)),
    )
    axes = [*view.axes[:-1], machine.axis(size)]
    out = replace(view, dtype=dtype, span=span)
    if not (old.is_const and new.is_const and view.exact and view.frame):
        return inexact(out, axes, "an element size that depends on an input")
    dims = [d for d, coord in enumerate(view.coords) if last.symbol in coord.free()]
    tail = len(view.frame) - 1
    stride = stride_of(view.coords[tail], last)
    contiguous = dims in ([], [tail]) and stride is not None and is_one(stride)
    if is_one(last.size) and dims == [] and new.const < old.const:
        contiguous = True  # one element: its own bytes
    elif not is_one(last.size) or new.const > old.const:
        _demand(
            machine,
            view,
            E.truth(contiguous),
            "stride of the last dimension == 1",
            "view of a last dimension that is not contiguous",
            "NKI-X30",
            span,
        )
    base = Substitution({last.symbol: E.const(0)}).expr(view.coords[tail])
    rest = base * old.const
    if not contiguous or any(coef % new.const for _, coef in rest.terms) or rest.const % new.const:
        return inexact(out, axes, "a reinterpretation that is not aligned to the new element size")
    start = Expr.make({mono: c // new.const for mono, c in rest.terms}, rest.const // new.const)
    frame = (*view.frame[:-1], E.floordiv(view.frame[tail] * old, new))
    coords = (*view.coords[:-1], start + axes[-1].index)
    return replace(out, frame=frame, axes=tuple(axes), coords=coords)


# ------------------------------------------------------------------------------- rearrange

_TOKEN = re.compile(r"\(|\)|[A-Za-z_]\w*|1|\.\.\.")


def rearrange(
    machine: Machine,
    view: View,
    source: object,
    target: object,
    sizes: Mapping[str, Expr],
    span: Span,
) -> View:
    """``rearrange(src, dst, fixed)``, in the manner of einops (NKI-X26).

    Each side is a string (``"p (a b) c"``) or a tuple of names and tuples of names.
    """
    left, right = _side(source), _side(target)
    names_left = [name for group in left or [] for name in group]
    names_right = [name for group in right or [] for name in group]
    valid = (
        left is not None
        and right is not None
        and len(left) == view.rank
        and sorted(names_left) == sorted(names_right)
        and len(set(names_left)) == len(names_left)
    )
    _demand(
        machine,
        view,
        E.truth(valid),
        "both sides name the same dimensions, once each",
        "rearrange pattern does not fit the dimensions",
        "NKI-X26",
        span,
    )
    if not valid or left is None or right is None:
        return view
    position = 0
    for group in left:
        if len(group) != 1:
            shape = [sizes.get(name, E.const(-1)) for name in group]
            open_names = sum(name not in sizes for name in group)
            if open_names > 1:
                _demand(
                    machine,
                    view,
                    FALSE,
                    "at most one size left open",
                    "rearrange leaves sizes open",
                    "NKI-X26",
                    span,
                )
                return view
            view = reshape_dim(machine, view, position, shape, span)
        position += len(group)
    view = permute(machine, view, [names_left.index(name) for name in names_right], span)
    for position, group in enumerate(right):
        if len(group) == 0:
            view = expand_dim(machine, view, position, span)
        elif len(group) > 1:
            view = flatten_dims(machine, view, position, position + len(group) - 1, span)
    return view


def split_names(source: object) -> frozenset[str]:
    """The names that a pattern gives to parts of a dimension."""
    return frozenset(name for group in _side(source) or () if len(group) > 1 for name in group)


def _side(value: object) -> list[tuple[str, ...]] | None:
    """The groups of names of one side; a bare name is a group of one."""
    if isinstance(value, str):
        groups: list[tuple[str, ...]] = []
        inner: list[str] | None = None
        for token in _TOKEN.findall(value):
            if token == "(":
                inner = []
            elif token == ")":
                groups.append(tuple(inner or ()))
                inner = None
            elif token != "1" and inner is not None:
                inner.append(token)
            else:
                groups.append(() if token == "1" else (token,))
        return groups
    if isinstance(value, (tuple, list)):
        out: list[tuple[str, ...]] = []
        for item in value:
            if isinstance(item, str):
                out.append((item,))
            elif isinstance(item, (tuple, list)) and all(isinstance(name, str) for name in item):
                out.append(tuple(str(name) for name in item))
            else:
                return None
        return out
    return None


__all__ = [
    "RULE",
    "broadcast",
    "broadcast_to",
    "expand_dim",
    "flatten_dims",
    "permute",
    "rearrange",
    "reshape_dim",
    "select",
    "slice_dim",
    "split_names",
    "squeeze_dim",
    "vector_select",
    "view_dtype",
]
