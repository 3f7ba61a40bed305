"""What is done with values of built-in types that are not known never fails unseen."""

from __future__ import annotations

import ast
import math
from pathlib import Path
from typing import Any

import pytest

import verifier.symbolic.python as package
from tests.python.support import Outcome, machine, run
from verifier.symbolic import expr as E
from verifier.symbolic.python.flow import Escape

VALUES = (
    "('a' * n)", "('ab'[:n])", "(b'a' * n)", "str(n)", "f'{n:>3}'", "(n ** 0.5)", "(n * 0.3)",
    "(n * 0.3 > 0.5)", "((1,) * n)", "hash('a')", "id(n)", "int(n ** 0.5)", "round(n * 0.1)",
    "math.floor(math.sqrt(n))", "('x' * n).upper()", "max(n * 0.3, 0.5)", "(n * 0.1, 'a' * n)",
)  # fmt: skip
USES = (
    "{}[0]", "{}[1:]", "{}[n]", "{}['a']", "{}[::n]", "{} + 1", "{} + 'a'", "{} + b'a'",
    "{} + None", "{} + (1,)", "{} + [1]", "1 + {}", "'a' + {}", "{} * 2", "{} * 'a'", "{} / 2",
    "2 / {}", "2 // {}", "2 % {}", "{} // (n - 2)", "{} % 3", "{} ** -1", "{} << 1", "1 << {}",
    "1 << (2 - {})", "{} & 1", "{} | None", "-{}", "~{}", "{}.foo", "{}.upper()", "{}.real",
    "{}()", "{} < 1", "{} < 'a'", "{} < None", "{} == None", "{} in 'abc'", "{} in b'abc'",
    "{} in [1]", "1 in {}", "'a' in {}", "not {}", "len({})", "list({})", "tuple({})",
    "sorted({})", "sum({})", "max({})", "max({}, 1)", "min({}, 'a')", "abs({})", "int({})",
    "float({})", "round({})", "round({}, 1)", "range({})", "chr({})", "ord({})", "hex({})",
    "divmod({}, 2)", "divmod(2, {})", "pow({}, 2)", "math.sqrt({})", "math.floor({})",
    "math.log({})", "isinstance(1, {})", "bytes({})", "dict({})", "[1, 2][{}]", "'abc'[{}]",
    "{{1: 2}}[{}]", "'%d' % {}", "'%s' % {}", "{} % (1,)", "format({}, 'd')", "','.join({})",
    "','.join([{}])", "zip({}, [1])", "[v for v in {}]", "any({})", "reversed({})",
    "'{{}}'.format({})", "enumerate({})", "{}.append(1)", "setattr({}, 'a', 1)", "[*{}]",
    "repr({})", "'ab'.center({})", "iter({})", "next({})", "math.gcd({}, 2)", "getattr({}, 'a')",
    "bool({})",
)  # fmt: skip


def holds(escape: Escape, env: dict[str, int]) -> bool:
    """Whether an exception may be raised for inputs; what is not known may be anything."""
    try:
        return bool(E.evaluate(escape.guard, env))
    except E.EvaluationError:
        return True


def fails(source: str, env: dict[str, int]) -> bool:
    names: dict[str, Any] = {"math": math, **env}
    try:
        eval(source, names)
    except (MemoryError, OverflowError):
        return False
    except Exception:
        return True
    return False


def check(source: str) -> None:
    vm = machine("import math\n")
    found: Outcome = run(vm, source, n=E.symbol("n", 0, 5), math=run(vm, "math").value)
    for size in range(6):
        env = {"n": size}
        may = bool(found.skipped) or any(holds(escape, env) for escape in found.escapes)
        must = found.ended and not found.skipped and len(found.escapes) == 1
        if fails(source, env):
            assert may, (source, env, found.value)
        else:
            assert not must or found.escapes[0].guard is not E.TRUE, (source, env)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("value", VALUES)
def test_what_may_fail_is_seen(value: str) -> None:
    for use in USES:
        check(use.format(value))


#: where a value stands for one of a library, of an input, or of what could not be read
FOREIGN = {
    "annotated.py",
    "kinds/external.py", "kinds/inputs.py", "kinds/tensors.py", "kinds/constants.py", "modules.py",
    "given.py", "entry.py", "launched.py", "functions.py", "loops.py", "trips.py", "widening.py",
    "lifting.py", "state.py", "decorators.py", "classes.py", "cases.py", "concrete.py", "kind.py",
    "faults.py", "kinds/blurred.py", "kinds/supers.py", "kinds/sources.py", "kinds/ranges.py",
    "kinds/types.py", "library/numeric.py", "library/numeric_runtime.py", "library/core_order.py",
    "library/importing.py", "library/counters.py", "library/loggers.py", "library/namedtuples.py",
    "library/dataclass_fields.py", "objectinputs.py", "plain.py",
}  # fmt: skip
#: of those, where it is taken for one that nothing can go wrong with
HARMLESS = {
    "cases.py",  # no path has it
    "concrete.py",  # no path has it
    "library/dataclass_fields.py",  # names of annotations
}


def test_values_of_built_in_types_are_made_with_their_type() -> None:
    root = Path(package.__file__).parent
    made, harmless = set(), set()
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                if node.func.id == "Opaque":
                    made.add(path.relative_to(root).as_posix())
                    if any(k.arg == "harmless" for k in node.keywords):
                        harmless.add(path.relative_to(root).as_posix())
    assert made == FOREIGN, made ^ FOREIGN
    assert harmless <= HARMLESS, harmless - HARMLESS
