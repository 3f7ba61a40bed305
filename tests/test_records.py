"""Classes of data behave as those of the standard library, but that nothing is frozen in a run."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys
from typing import Any

import pytest

from verifier import records

MADE = [dataclasses.dataclass, records.dataclass]


@records.dataclass(frozen=True, slots=True)
class Kept:
    """One that is pickled."""

    name: str
    sizes: tuple[int, ...] = ()


def classes(dataclass: Any) -> tuple[Any, Any]:
    @dataclass(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 2
        notes: list[str] = dataclasses.field(default_factory=list, compare=False)
        seen: dict[str, int] = dataclasses.field(default_factory=dict, hash=False)

    @dataclass(slots=True, order=True)
    class Named(Point):
        name: str = dataclasses.field(default="", kw_only=True)
        total: int = dataclasses.field(init=False, repr=False, compare=False)

        def __post_init__(self) -> None:
            self.total = self.x + self.y

    return Point, Named


def test_what_is_made_is_what_the_standard_library_makes() -> None:
    def frozen(**options: Any) -> Any:  # the standard library mixes no frozen and other classes
        return dataclasses.dataclass(**{**options, "unsafe_hash": True, "frozen": False})

    def told(dataclass: Any) -> list[object]:
        point, named = classes(dataclass)
        a, b = point(1), point(1, 2, ["other"])
        c = named(3, name="c")
        return [
            (a == b, a == point(2), a != point(2), hash(a) == hash(b), a == c, a == 1),
            (repr(a), repr(c), c.total, a.notes is not b.notes),
            (dataclasses.replace(c, x=5).total, named(1) < named(2), named(2) <= named(1)),
            (point.__match_args__, point.__slots__, hasattr(a, "__dict__")),
            [f.name for f in dataclasses.fields(named)],
        ]

    shown = [str(each).replace(".<locals>", "") for each in (told(frozen), told(records.dataclass))]
    assert shown[0].replace("told", "") == shown[1].replace("told", "")


@pytest.mark.parametrize("dataclass", MADE)
def test_what_is_asked_of_it_is_checked(dataclass: Any) -> None:
    @dataclass
    class Size:
        number: int

    make: Any = Size
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'number'"):
        make()
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'other'"):
        make(1, other=2)
    with pytest.raises(TypeError, match="unhashable"):
        hash(Size(1))
    assert Size(1) == Size(number=1)


def test_it_is_pickled() -> None:
    kept = Kept("a", (1, 2))
    assert pickle.loads(pickle.dumps(kept)) == kept
    assert {kept: 1}[Kept("a", (1, 2))] == 1


def test_a_class_that_is_not_used_costs_no_compilation() -> None:
    """Hundreds of classes are made as the command starts, and most are of no use to it."""
    program = (
        "import builtins, dataclasses, sys\n"
        "ran = []\n"
        "sys.addaudithook(lambda event, args: ran.append(event) if event == 'exec' else None)\n"
        "from verifier import records\n"
        "del ran[:]\n"
        "@records.dataclass(frozen=True, slots=True)\n"
        "class Size:\n"
        "    number: int\n"
        "print(len(ran), Size(3), len(ran) > 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "0 Size(number=3) True\n", done.stderr
