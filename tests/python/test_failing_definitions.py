"""Definitions that CPython refuses, where they stand and where they are used."""

from __future__ import annotations

import sys

import pytest

from tests.python.programs import same, same_for, unknown

CAUGHT = """
    import copy, enum, math
    from typing import Dict, List, NamedTuple, Optional
    class Own:
        pass
    def run({names}):
        try:
    {body}
        except Exception as error:
            return type(error).__name__
        return "no error"
"""


def program(body: str, names: str = "") -> str:
    lines = "\n".join(f"            {line}" for line in body.splitlines())
    return CAUGHT.format(names=names, body=lines.removeprefix("    "))


@pytest.mark.parametrize(
    "annotation",
    ["int", "int | None", "None | int", "'zz'", "Own", "Own | None", "List[int]", "list[int, 'x']",
     "Optional[int]", "Dict[str, int]", "int[3]", "math.zz", "int.zz", "1 // 0", "[][0]", "{}[1]",
     "1 + 'a'", "int | 'x'", "int | None | 5", "Own[int]", "Own()", "zz", "tuple[int, ...]"],
)  # fmt: skip
def test_annotations_are_evaluated(annotation: str) -> None:
    same(program(f"def f(a: {annotation}): pass"))
    same(program(f"def f(*a: {annotation}): pass"))
    same(program(f"def f() -> {annotation}: pass"))
    same(program(f"class A:\n    v: {annotation}"))
    same(program(f"def f():\n    v: {annotation} = 1\nf()"))


@pytest.mark.parametrize("body", ["return v", "if v > 2: return self", "return v or None",
                                  "return None if v else 3", "return None"])  # fmt: skip
def test_init_returns_nothing(body: str) -> None:
    made = f"class A:\n    def __init__(self, v):\n        {body}\nA(v)"
    same_for(program(made, "v"), v=range(5))


def test_a_generator_raises_no_stop_iteration() -> None:
    for taken in ("list(f())", "[v for v in f()]", "it = f()\nnext(it)\nnext(it)"):
        same(program(f"def f():\n    yield 1\n    raise StopIteration\n{taken}"))


def test_what_missing_returns_is_a_member() -> None:
    for answer in ("7", "'A'", "None", "cls.A", "F.A"):
        same(
            program(
                "class F(enum.Enum):\n    A = 1\n"
                "class E(enum.Enum):\n    A = 1\n    @classmethod\n"
                f"    def _missing_(cls, v): return {answer}\n"
                "E(5)"
            )
        )


@pytest.mark.skipif(sys.version_info < (3, 11), reason="StrEnum is of 3.11")
def test_members_of_string_enumerations_are_strings() -> None:
    for value in ("1", "None", "'a'", "(b'a', 'ascii')"):
        body = f"class E(enum.StrEnum):\n    A = {value}"
        if "b'" not in value:
            same(program(body))


def test_flags_with_other_values_are_not_followed() -> None:
    unknown(program("class E(enum.Flag):\n    A = 'x'"))


def test_modules_are_not_copied() -> None:
    same(program("copy.copy(math)"))
    same(program("copy.deepcopy([math])"))


@pytest.mark.parametrize("name", ["__init__", "__new__", "_make", "_replace", "_asdict", "other"])
def test_named_tuples_keep_their_own_methods(name: str) -> None:
    same(program(f"class P(NamedTuple):\n    a: int = 1\n    def {name}(self): pass"))
