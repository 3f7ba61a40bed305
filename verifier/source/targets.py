"""What a value is called: by what it is bound to, in a kernel's IR or in its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeAlias

from verifier.source import ir

_Node: TypeAlias = "ast.AST | ir.Node"


def called(target: _Node | None) -> str | None:
    """What a value is called that is bound to a target: ``t``, ``state.t``, ``tiles["k"]``."""
    match target:
        case ast.Name(id=name) | ir.Name(id=name):
            return name
        case ast.Attribute(value=owner, attr=attr) | ir.Attribute(value=owner, attr=attr):
            outer = called(owner)
            return attr if outer is None else f"{outer}.{attr}"
        case ast.Subscript(value=owner, slice=key) | ir.Subscript(value=owner, index=key):
            return item(called(owner), key)
    return None


def item(owner: str | None, key: _Node | None) -> str | None:
    """What an item of something is called."""
    match key:
        case ast.Constant(value=str(text)) | ir.Const(value=str(text)) if '"' not in text:
            at = f'"{text}"'
        case ast.Constant(value=int(number)) | ir.Const(value=int(number)):
            at = str(number)
        case ast.Name(id=name) | ir.Name(id=name):
            at = name
        case _:
            return None
    return None if owner is None else f"{owner}[{at}]"


def appended_to(call: _Node) -> str | None:
    """What a list is called to which a call appends one value."""
    match call:
        case ast.Call(func=ast.Attribute(value=owner, attr="append"), args=args, keywords=[]):
            return called(owner) if len(args) == 1 else None
        case ir.Call(func=ir.Attribute(value=owner, attr="append"), args=args, keywords=()):
            return called(owner) if len(args) == 1 else None
    return None


def returned(body: Sequence[ast.stmt] | Sequence[ir.Stmt]) -> str | None:
    """The name that a function returns last, whose value its caller has a name for."""
    match body[-1] if body else None:
        case ast.Return(value=ast.Name(id=name)) | ir.Return(value=ir.Name(id=name)):
            return name
    return None
