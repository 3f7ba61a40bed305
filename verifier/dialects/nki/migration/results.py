"""What a call returned as text: what runs know of it, written in terms of its arguments."""

from __future__ import annotations

import ast
from collections.abc import Callable

from msgspec import Struct

from verifier.dialects.nki.migration.forms import Form
from verifier.dialects.nki.migration.recipes import Recipe
from verifier.dialects.nki.migration.text import Text
from verifier.dialects.nki.migration.unvisited import described
from verifier.dialects.nki.migration.visits import Visits
from verifier.hardware.memories import Buffer


class Allocation(Struct, frozen=True):
    """The texts of what ``nl.ndarray`` is given."""

    shape: str
    dtype: str
    buffer: Buffer


#: gives an argument a name, if it can
Bind = Callable[[ast.expr], bool]


def allocation(text: Text, visits: Visits, form: Form, bind: Bind) -> Allocation | None:
    """The tile that a call returned; None if nothing in the text says what it is like.

    ``bind``: what is done with an argument that may not be written twice.
    """
    recipes = {visit.recipe for visit in visits.at(text.span(form.call), form.name)}
    recipe = recipes.pop() if len(recipes) == 1 else None
    if not recipes and recipe is None:
        recipe = described(text, visits, form)
    if recipe is None:
        return None
    shape = _shape(text, form, recipe, bind)
    dtype = _dtype(text, form, recipe, bind)
    return None if shape is None or dtype is None else Allocation(shape, dtype, recipe.buffer)


def _shape(text: Text, form: Form, recipe: Recipe, bind: Bind) -> str | None:
    if recipe.asked:
        asked = form.value("shape")
        return text.rendered(asked) if asked is not None and pure(text, asked) else None
    axes = [size for size in recipe.shape if not isinstance(size, int)]
    roles = {role for size in axes for role, _ in size} | {recipe.like} - {""}
    texts: dict[str, str] = {}
    for given in form.given:  # in the order in which they are evaluated
        role = given.parameter.name
        if role in roles:
            if not pure(text, given.value) and not bind(given.value):
                return None
            texts[role] = text.rendered(given.value)
    if roles != texts.keys():
        return None
    if recipe.like:
        return f"{texts[recipe.like]}.shape"
    sizes = [
        str(size)
        if isinstance(size, int)
        else " * ".join(f"{texts[role]}.shape[{axis}]" for role, axis in size)
        for size in recipe.shape
    ]
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"


def _dtype(text: Text, form: Form, recipe: Recipe, bind: Bind) -> str | None:
    asked = form.value("dtype")
    if asked is not None and not (isinstance(asked, ast.Constant) and asked.value is None):
        return text.rendered(asked) if pure(text, asked) else None
    if recipe.dtype:
        argument = form.value(recipe.dtype)
        if argument is None or not (pure(text, argument) or bind(argument)):
            return None
        return f"{_whole(text, argument)}.dtype"
    module = text.module("language")
    return f"{module}.{recipe.named}" if module and recipe.named else None


def _whole(text: Text, argument: ast.expr) -> str:
    """A tensor that an argument is a part of: what is cut with slices is no list of tensors."""
    while isinstance(argument, ast.Subscript) and any(
        isinstance(part, (ast.Slice, ast.Tuple)) for part in ast.walk(argument.slice)
    ):
        argument = argument.value
    return text.rendered(argument)


#: what does nothing but name, and may be written twice
_PURE = (
    *(ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Tuple, ast.Constant, ast.keyword),
    *(ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.expr_context, ast.List),
)


def pure(text: Text, node: ast.AST) -> bool:
    """Whether an expression does nothing but name, and may be written twice."""
    if isinstance(node, ast.expr) and node in text.lowered:
        return True
    if node in text.computing:
        return False
    if isinstance(node, ast.Call) and text.name(node.func) != "language.ds":
        return False
    if not isinstance(node, (*_PURE, ast.Call)):
        return False
    return all(pure(text, child) for child in ast.iter_child_nodes(node))
