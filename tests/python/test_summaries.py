"""Calls that come again with the same plain arguments: they are followed a few times only."""

from __future__ import annotations

import pytest

from tests.python.programs import same
from tests.python.support import machine, run

PROGRAMS = {
    "each call has a list of its own": """
def tiles(size, tile):
    out = []
    for i in range(-(-size // tile)):
        out.append((i, min(tile, size - i * tile)))
    return out
def run():
    found = [tiles(300, 128) for _ in range(5)]
    found[3].append("mine")
    found[4][0] = "first"
    return found, found[1] is found[2], tiles(300, 128)
""",
    "objects in lists and dictionaries, and an object that is in them twice": """
class Tile:
    def __init__(self, size, index):
        self.size, self.index = size, index
def made(n):
    one = Tile(n, 0)
    return {"a": [one, Tile(n + 1, 1)], "b": (one, n)}
def run():
    found = []
    for _ in range(5):
        found.append(made(7))
    found[4]["a"][0].size = 99
    return [(f["a"][0].size, f["a"][1].index, f["a"][0] is f["b"][0]) for f in found]
""",
    "one and True and 1.0 are several arguments": """
def told(x):
    return str(x)
def run():
    return [told(x) for _ in range(4) for x in (1, True, 1.0, "1", None, 0.0, -0.0)]
""",
    "tuples of equal values": """
def told(x):
    return repr(x)
def run():
    return [told(x) for _ in range(4) for x in ((1, 2), (True, 2), (1.0, 2), ("a", (None,)))]
""",
    "a name of the module that changes": """
scale = 2
def scaled(x):
    return x * scale
def run():
    global scale
    out = [scaled(3) for _ in range(4)]
    scale = 5
    out += [scaled(3) for _ in range(4)]
    return out
""",
    "a list that is read": """
known = [1, 2]
def total(x):
    return x + sum(known)
def run():
    out = []
    for i in range(8):
        out.append(total(3))
        if i == 4:
            known.append(10)
    return out
""",
    "an attribute of a class that is read": """
class Mode:
    wide = False
def width(x):
    return x * (2 if Mode.wide else 1)
def run():
    out = [width(3) for _ in range(4)]
    Mode.wide = True
    out += [width(3) for _ in range(4)]
    del Mode.wide
    Mode.wide = 0
    return out + [width(3)]
""",
    "a counter": """
calls = [0]
def next_one(x):
    calls[0] += 1
    return x + calls[0]
def run():
    return [next_one(3) for _ in range(6)]
""",
    "a global counter": """
calls = 0
def next_one(x):
    global calls
    calls += 1
    return x + calls
def run():
    return [next_one(3) for _ in range(6)], calls
""",
    "a default that remembers": """
def kept(x, seen=[]):
    seen.append(x)
    return len(seen)
def run():
    return [kept(3) for _ in range(6)]
""",
    "what a function closes over": """
def run():
    base = 1
    def moved(x):
        return x + base
    out = [moved(3) for _ in range(4)]
    base = 10
    out += [moved(3) for _ in range(4)]
    def other():
        nonlocal base
        base += 1
    other()
    return out, moved(3)
""",
    "an iterator that goes on": """
numbers = iter(range(100))
def taken(x):
    return x + next(numbers)
def run():
    return [taken(3) for _ in range(6)]
""",
    "a generator that goes on": """
def counted():
    n = 0
    while True:
        n += 1
        yield n
numbers = counted()
def taken(x):
    return x + next(numbers)
def run():
    return [taken(3) for _ in range(6)]
""",
    "exceptions that are caught": """
def checked(x):
    if x > 3:
        raise ValueError("too large")
    return x
def tried(x):
    try:
        return checked(x)
    except ValueError as error:
        return str(error)
def run():
    return [tried(x) for _ in range(4) for x in (1, 4)]
""",
    "the exception that is being handled": """
def again(x):
    if x:
        raise
    return "fine"
def run():
    out = []
    for error in (KeyError, None, ValueError, None, IndexError):
        try:
            if error is not None:
                raise error("x")
            out.append(again(False))
        except LookupError:
            out.append(again(False))
        except ValueError:
            try:
                again(True)
            except ValueError:
                out.append("again")
    return out
""",
    "a function among the arguments": """
def twice(f, x):
    return f(f(x))
def run():
    step = 1
    def up(x):
        return x + step
    out = [twice(up, 3) for _ in range(4)]
    step = 7
    return out + [twice(up, 3) for _ in range(3)], twice(lambda x: -x, 2)
""",
    "a function that is replaced": """
def inner(x):
    return x + 1
def outer(x):
    return inner(x) * 2
def run():
    global inner
    out = [outer(3) for _ in range(4)]
    inner = lambda x: x - 1
    return out + [outer(3) for _ in range(3)]
""",
    "the same list each time": """
shared = []
def which(x):
    return shared
def run():
    found = [which(1) for _ in range(4)]
    found[3].append(5)
    return found[0] is found[3], found[0]
""",
    "calls in calls": """
def leaf(x):
    return [x, x + 1]
def middle(x):
    return leaf(x) + leaf(x + 1)
def top(x):
    return [middle(x), middle(x)]
def run():
    found = [top(2) for _ in range(5)]
    found[0][0].append(9)
    return found, [leaf(2), middle(2)]
""",
    "what loops leave": """
def log2(n):
    count = 0
    while n > 1:
        n //= 2
        count += 1
    return count
def run():
    return [log2(n) for _ in range(3) for n in (8, 128, 1000)]
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_that_come_again_are_what_python_makes_of_them(name: str) -> None:
    same(PROGRAMS[name])


def test_a_helper_of_numbers_costs_its_first_calls_only() -> None:
    text = """
def tiles(size, tile):
    out = []
    for i in range(-(-size // tile)):
        out.append((i, min(tile, size - i * tile)))
    return out
"""

    def steps(calls: int) -> int:
        vm = machine(text)
        run(vm, f"[{', '.join(['tiles(300, 128)'] * calls)}]")
        return vm.steps

    assert steps(1) < steps(2) == steps(3) == steps(40)
