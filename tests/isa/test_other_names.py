"""What is said of an instruction follows from its description: under another name it is the same.

Every described instruction gets a like of it, with the same description and another name. The same
rules concern both, and kernels that call the likes are found to break what the originals break
(of many that call nothing new a run of the whole suite takes a third;
``TILELINT_EVERYTHING=1``: all that is said of the examples of all rules is the same).
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.commands import python
from tests.sweeps import thinned
from tests.trees import copied
from verifier.rulebase import all_rules

#: what is appended to the package of descriptions of a dialect
_LIKES = """
from msgspec.structs import replace as _replace

{table} = MappingProxyType(
    {{
        **{table},
        **{{f"{{n}}_again": _replace(i, name=f"{{n}}_again") for n, i in {table}.items()}},
    }}
)
"""
TABLES = {
    "nki": ("INSTRUCTIONS",),
    "ppl": ("INSTRUCTIONS", "CONTROL"),
    "okk": ("INSTRUCTIONS", "ANSWERS"),
}

#: a rule about one instruction, and why its name says what its description does not
NAMED = {
    "advice-reciprocal": "what it costs, of this one instruction, is compared with another one",
}

#: of each kind one that is called: by DMA, of the Tensor Engine, of GpSimd, of the Scalar Engine
CALLED = {
    "isa.dma_copy",
    "isa.dma_transpose",
    "isa.nc_matmul",
    "isa.nc_matmul_mx",
    "isa.local_gather",
    "isa.activation",
    "collectives.all_reduce",
    "language.load",
    "okk.gdma_32bit_cpy_S2L",
    "ppl.tiu.fadd",
}

_RULES = """
import json
from verifier.dialects.registry import DIALECTS, instructions
from verifier.rulebase import all_rules

names = {i.name for i in instructions(DIALECTS)}
judged = {rule.id: {*rule.operations} for rule in all_rules()}
print(json.dumps({
    rule: sorted(n for n in names if f"{n}_again" in names and (n in of) != (f"{n}_again" in of))
    for rule, of in judged.items()
}))
"""

_EXAMPLES = r"""
import json
import re
import sys

from verifier.dialects.nki.host import HANDLERS
from verifier.dialects.registry import DIALECTS, instructions
from verifier.engine import analyze_source
from verifier.rulebase import ADVICE, On, all_rules

FAMILIES = {"nisa": "isa", "nl": "language", "ncc": "collectives", "pl": "ppl", "okk": "okk"}
ORIGINALS = {i.name for i in instructions(DIALECTS) if not i.name.endswith("_again")}
# what makes tensors is part of the interpreter
NAMES = {i.name for i in instructions(DIALECTS) if i.signatures} & ORIGINALS - HANDLERS.keys()
CALL = re.compile(r"\b(nisa|nl|ncc|pl|okk)\.((?:\w+\.)?\w+)(?=\()")
called = set()


def like(match):
    name = f"{FAMILIES[match[1]]}.{match[2]}"
    if name not in NAMES:
        return match[0]
    called.add(name)
    return f"{match[0]}_again"


def said(text, rule, target, api):
    select = (rule.id, *usual) if rule.family == ADVICE else ()
    found = analyze_source(text, target=target, api_version=api, select=select)
    return [
        sorted([d.rule, d.severity, d.verdict, d.span.line, *d.facts] for d in found.diagnostics),
        [[k.name, k.status, k.calls.unmodelled] for k in found.kernels],
        len(found.errors),
    ]


every, passed = int(sys.argv[1]), 0
usual = [rule.id for rule in all_rules() if rule.family != ADVICE]
everything = "everything" in sys.argv
wrong = []
for rule in all_rules():
    if rule.family in ("precondition", "suppression", "migration") or rule.id in sys.argv:
        continue
    if rule.on is not On.OPERATION and not everything:
        continue
    examples = [(rule.failing, None, None, None), (rule.passing, None, None, None)]
    for twin in rule.twins:
        examples.append((twin.failing, twin.target, twin.api, twin.fact))
        examples.append((twin.passing, twin.target, twin.api, None))
    for number, (text, target, api, fact) in enumerate(examples):
        if number % 2 and not everything:
            continue
        these = {f"{FAMILIES[a]}.{b}" for a, b in CALL.findall(text)} & NAMES
        if not these:
            continue
        passed += 1
        if these <= called and passed % every and not everything:
            continue
        other = CALL.sub(like, text)
        named = re.match(r"# target: (\w+)", text)
        hardware = target or (named[1] if named else "trn2")
        after = said(other, rule, hardware, api)
        if everything:
            before = said(text, rule, hardware, api)
            if before != after:
                wrong.append([rule.id, before, after, other])
        elif not any(d[0] == rule.id and d[2] != "unknown" and (fact is None or fact in d)
                     for d in after[0]):
            wrong.append([rule.id, after, other])
print(json.dumps([wrong, sorted(called)]))
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with a like of each instruction."""
    top = copied(tmp_path_factory.mktemp("likes"))
    for dialect, tables in TABLES.items():
        with (top / f"verifier/dialects/{dialect}/isa/__init__.py").open("a") as package:
            package.writelines(_LIKES.format(table=table) for table in tables)
    return top


def test_rules_concern_instructions_by_what_is_described() -> None:
    """None lists them by name, but for these."""
    listing = {
        rule.id
        for rule in all_rules()
        if rule.operations and rule.concerns is None and rule.enforces is None
    }
    assert listing == NAMED.keys()


def test_the_same_rules_concern_the_like_of_an_instruction(tree: Path) -> None:
    done = python("-c", _RULES, cwd=tree, tree=tree)
    assert done.returncode == 0, done.stderr
    differing = {rule for rule, names in json.loads(done.stdout).items() if names}
    assert differing == NAMED.keys()


def test_kernels_with_likes_are_judged_as_those_with_the_originals(tree: Path) -> None:
    everything = ["everything"] if os.environ.get("TILELINT_EVERYTHING") else []
    done = python(
        "-c", _EXAMPLES, thinned(1), *NAMED, *everything, cwd=tree, tree=tree, timeout=3000
    )
    assert done.returncode == 0, done.stderr
    wrong, called = json.loads(done.stdout)
    assert wrong == []
    assert {*called} >= CALLED
