"""The grammar of contracts: what a user says about a kernel's inputs from outside.

A contract reads like a signature::

    matmul_tiled(lhsT: bf16[K, M], rhs: bf16[K, N], tiles: 1..16) where K % 128 == 0, M == 64
    add[2, 2](a: {fp32, bf16}[256, N], b: fp32[256, N], ...)   # a 2 x 2 grid; the rest: defaults
    mx(a: float8_e4m3fn_x4[128, N]) on trn3 where N <= 512
    pool(x: _[C, H], window: (3, 4), mode: Mode.MAX, cfg: Config(tile=128, bias=False), eps=default)

Above a kernel, in a comment, the name is left out. ``on`` is followed by the targets that the
contract is for, whatever else is asked for. Values are written as in Python:

- ``bf16[K, 2*N]`` a tensor; ``_`` any dtype, ``{bf16, fp16}`` one of several; ``_`` or ``*`` any
  size, ``[...]`` any rank; ``bf16`` alone: a tensor of it, or the dtype where it is used as one;
- ``int``, ``float``, ``str`` any value of that type of Python's, ``bool`` either truth value, or a
  tensor of them where the input is one;
- ``7``, ``2*K`` an integer, ``1..16`` one of a range (both ends included), ``{64, 128}`` one of
  several values of any kind, ``1e-5``, ``"text"``, ``True``, ``None``, ``(3, 4)``, ``[a, b]``;
- ``Mode.MAX`` and ``Config(...)``: by their names in the kernel's module, with values as above;
- ``default``: what the parameter is by default; ``...`` at the end: so are all that are not named;
- ``_`` or ``*``: anything.

``where`` is followed by conditions, joined by ``,`` or ``and``, over size names, integer
parameters, ``x.shape[0]``, ``x.dtype``, ``x.dtype.itemsize``, ``num_programs(0)``, ``min``,
``max``, ``a if c else b``: comparisons, ``in``, ``is None``, ``and``, ``or``, ``not``. A name that
is no parameter stands for the first size or integer that it is alone.

Everything after a ``#`` outside a string is ignored. Columns are 0-based code points of the text.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Final

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from verifier.configuration.contracts import Contract
from verifier.configuration.meanings import ContractError, contract_of

#: characters of a contract
_LONGEST: Final = 20_000

_GRAMMAR: Final = r"""
start: [dotted] [grid] "(" [params] ")" ["on" targets] ["where" conditions]
dotted: NAME ("." NAME)*
grid: "[" _items "]"
targets: NAME ("," NAME)* [","]
params: param ("," param)* [","]
param: NAME (":" | "=") item | "..." -> rest
conditions: choice ("," choice)* [","]

_items: item ("," item)* [","]
?item: choice
     | choice ".." choice -> range
     | "*" -> anything
     | "..." -> rest
?choice: either
       | either "if" either "else" choice -> chosen
?either: both
       | both ("or" both)+ -> or
?both: negation
     | negation ("and" negation)+ -> and
?negation: comparison
         | "not" negation -> not
?comparison: sum
           | sum (comparator sum)+ -> compared
comparator: "==" -> eq | "!=" -> ne | "<" -> lt | "<=" -> le | ">" -> gt | ">=" -> ge
          | "in" -> among | "not" "in" -> not_among | "is" -> is | "is" "not" -> is_not
?sum: product
    | product (SIGN product)+
?product: factor
        | factor (TIMES factor)+
?factor: postfix
       | SIGN factor -> signed
?postfix: atom
        | postfix "." NAME -> attribute
        | postfix "[" [_items] "]" -> subscript
        | postfix "(" [_arguments] ")" -> call
_arguments: argument ("," argument)* [","]
?argument: item
         | NAME "=" item -> keyword
?atom: INT -> integer
     | FLOAT -> float
     | STRING -> string
     | NAME -> name
     | "(" item ")" -> parens
     | "(" ")" -> tuple
     | "(" item "," ")" -> tuple
     | "(" item ("," item)+ [","] ")" -> tuple
     | "[" [_items] "]" -> list
     | "{" _items "}" -> set

SIGN: "+" | "-"
TIMES: "*" | "//" | "%"
FLOAT: /\d+\.\d+([eE][+-]?\d+)?|\d+[eE][+-]?\d+/
INT: /\d[\d_]*/
NAME: /[^\W\d]\w*/
STRING: /"([^"\\\n]|\\.)*"|'([^'\\\n]|\\.)*'/
%ignore /\s+/
%ignore /#[^\n]*/
"""

#: contracts of a run: each file has all of them read again for each of its kernels
_KEPT: Final = 1024
#: what stands for a terminal in a message; those that are not here are said as they are written
_WORDS: Final = {
    "NAME": "a name",
    "INT": "a number",
    "$END": "the end",
}
#: terminals that can start a value, with those that start nothing else
_VALUE: Final = frozenset({"INT", "FLOAT", "STRING", "NAME"})
#: what is named first of what may stand at a place
_FIRST: Final = ("COLON", "LPAR", "RPAR", "RSQB", "RBRACE", "COMMA", "WHERE", "ON", "$END", "NAME")
_HINTS: Final = {
    "=": "; compare with '=='",
    "/": "; integer division is '//'",
    "&": "; join conditions with ',' or 'and'",
    "|": "; join conditions with 'or'",
    "!": "; write 'not'",
}


@lru_cache(maxsize=_KEPT)
def parse(text: str, *, comment: bool = False) -> Contract:
    """Read one contract; ``comment`` is the form without the kernel's name.

    Raises:
        ContractError: the text does not follow the grammar, or a parameter is given twice.
    """
    if len(text) > _LONGEST:
        raise ContractError(f"a contract has at most {_LONGEST} characters", text, _LONGEST)
    try:
        found = _parser().parse(text)
    except UnexpectedToken as error:
        raise _unexpected(text, error) from error
    except UnexpectedCharacters as error:
        raise _unread(text, error.pos_in_stream or 0) from error
    except UnexpectedInput as error:  # pragma: no cover - the two above are all there are
        raise ContractError("this is no contract", text, 0) from error
    return contract_of(text, found, comment)


@cache
def _parser() -> Lark:
    return Lark(_GRAMMAR, parser="lalr", propagate_positions=True, maybe_placeholders=True)


def _unread(text: str, place: int) -> ContractError:
    """A character that nothing starts with."""
    character = text[place]
    if character in "\"'":
        return ContractError("this string is not closed", text, place)
    hint = _HINTS.get(character, "")
    return ContractError(f"unexpected {character!r}{hint}", text, place)


def _unexpected(text: str, error: UnexpectedToken) -> ContractError:
    """A word at a place where it cannot stand, with what can."""
    token: Token = error.token
    at_end = token.type == "$END"
    found = "the end" if at_end else f"'{token}'"
    column = len(text.rstrip()) if at_end else token.start_pos or 0
    hint = "" if at_end else _HINTS.get(str(token), "")
    expected = error.accepts or error.expected
    message = f"expected {_expected(set(expected))}, found {found}{hint}"
    return ContractError(message, text, column, max(1, len(token)))


def _expected(names: set[str]) -> str:
    if names >= _VALUE:
        return "a value"
    words = {t.name: t.pattern.value for t in _parser().terminals if t.pattern.type == "str"}
    shown = [_WORDS.get(n) or f"'{words.get(n, n)}'" for n in _FIRST if n in names]
    return " or ".join(shown[:3]) or "something else"


__all__ = ["ContractError", "parse"]
