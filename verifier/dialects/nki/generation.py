"""Which generation of NKI a file is written for.

Decided from the text alone, by what the file imports and which functions and keywords it names:

1. ``neuronxcc.nki`` (or a Beta 1 entry point of a framework) and no ``nki`` module: Beta 1.
2. Otherwise the file belongs to the ``nki`` namespace (Beta 1 is a candidate when it imports both:
   one is the fallback of the other). Each distinct use is a call by name with what it gives, a jit
   keyword, or the name of an API; a generation *rejects* it when its tables lack the name or a
   keyword, or demand what is not given, or is None. The generation that rejects fewest uses wins.
3. Among equals those come first that have fewest doubts: members that they lack and that are asked
   of what may be a tensor, and a result in a memory that they do not return. Then 0.3 is taken if
   it is one of them: it is the first generation that all later ones extend, and code written for
   0.2 gives itself away (it passes ``dtype=`` to instructions or ``platform_target=`` to ``jit``,
   or returns what is in ``nl.hbm``). If 0.3 is not among them, the oldest is.

A file that imports both under names of their own has kernels of both: of each only what is said
with the names of its decorator's package counts. A fragment without imports may be of any.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from verifier.dialects.nki import isa, names
from verifier.dialects.nki.present import needed
from verifier.dialects.nki.signatures import generations_with, lookup
from verifier.dialects.nki.versions import DESCRIBED, GENERATIONS, newer
from verifier.dialects.signature import Signature
from verifier.source import nodes
from verifier.source.fragments import implied

#: the generation of a file that fits several
DEFAULT: Final = "0.3"
#: of Beta 1, and of later generations
_PACKAGES: Final = ("neuronxcc.nki", "nki")


#: what is imported, and the dotted name that each alias is
Imported: TypeAlias = tuple[set[str], dict[str, str]]


class Use(Struct, frozen=True):
    """A call of an API function by its canonical name.

    ``count``: how many arguments it gives by position; None: also what is not told (``*args``,
    ``**options``). ``absent``: the keywords and places at which it gives None.
    """

    name: str
    keywords: frozenset[str] = frozenset()
    count: int | None = None
    absent: frozenset[str | int] = frozenset()

    def lacks(self, signature: Signature) -> bool:
        """Whether a parameter that has no default is left out, or given None for a tensor."""
        by_place = [p.name for p in signature.positional]
        nothing = {by_place[at] if isinstance(at, int) else at for at in self._within(by_place)}
        instruction = isa.find(self.name)
        if instruction is not None and nothing & set(needed(instruction, signature)):
            return True
        if self.count is None:
            return False
        given = {*by_place[: self.count], *self.keywords}
        return any(p.default is None and p.name not in given for p in signature.parameters)

    def _within(self, places: Sequence[str]) -> Iterator[str | int]:
        return (at for at in self.absent if not isinstance(at, int) or at < len(places))


class Features(Struct, frozen=True):
    """What a file says about its generation.

    ``imports``: dotted names that are imported, ``from a.b import c`` as ``a.b`` and ``a.b.c``.
    ``jit_keywords``: keywords given to ``nki.jit``. ``uses``: calls of API functions. ``names``:
    API names that are mentioned, called or not. ``members``: what is asked of tensors, as
    :data:`names.MEMBERS` has it; ``perhaps``: of what may be a tensor, such as the parameter of a
    helper. ``private``: a kernel returns what it has allocated in ``nl.hbm``.
    """

    imports: frozenset[str]
    jit_keywords: frozenset[str] = frozenset()
    uses: frozenset[Use] = frozenset()
    names: frozenset[str] = frozenset()
    members: frozenset[str] = frozenset()
    perhaps: frozenset[str] = frozenset()
    private: bool = False


def generations_of(tree: ast.AST) -> Callable[[str], str]:
    """The generations of a parsed file's kernels by qualified names; that of the file by ``""``."""
    imports, aliases = known = imported(tree)
    both = all(any(_is_under(name, p) for name in imports) for p in _PACKAGES)
    either = _either(tree) if both else frozenset()
    found: dict[str, str] = {}

    def generation(kernel: str) -> str:
        package = _package(tree, kernel, aliases, either) if both and kernel else ""
        if package not in found:
            found[package] = infer_generation(_features(tree, package, known))
        return found[package]

    return generation


def scan_features(tree: ast.AST) -> Features:
    """The features of a parsed file. Import aliases are followed, nothing else is."""
    return _features(tree, "", imported(tree))


def _features(tree: ast.AST, package: str, known: Imported) -> Features:
    """Of what is said with the names of one package alone, if one is given."""
    imports, aliases = known
    if package:
        imports = {name for name in imports if _is_under(name, package)}
        aliases = {alias: full for alias, full in aliases.items() if _is_under(full, package)}
    jit_keywords: set[str] = set()
    uses: set[Use] = set()
    mentioned: set[str] = set()
    members: set[str] = set()
    every = nodes.walk(tree)
    for node in every:
        if isinstance(node, ast.Call):
            name = canonical(node.func, aliases)
            if name is not None:
                use = _use(name, node)
                if name == "jit":
                    jit_keywords |= use.keywords
                else:
                    uses.add(use)
        elif isinstance(node, ast.alias):
            name = canonical(ast.Name(node.asname or node.name, ast.Load()), aliases)
            if name is not None:
                mentioned.add(name)
        elif isinstance(node, ast.FunctionDef):
            members |= _members(node, aliases)
        elif isinstance(node, (ast.Attribute, ast.Name)):
            name = canonical(node, aliases)
            if name is not None:
                mentioned.add(name)
    return Features(
        frozenset(imports),
        frozenset(jit_keywords),
        frozenset(uses),
        frozenset(mentioned),
        frozenset(members),
        frozenset(_perhaps(every, aliases) - members),
        any(_returns_private(n, aliases) for n in every if isinstance(n, ast.FunctionDef)),
    )


def _members(function: ast.FunctionDef, aliases: Mapping[str, str]) -> set[str]:
    """What a function asks of its tensors: what the API made, and what a kernel is given."""
    every = nodes.walk(function)
    found = {"+"} if _computes_with_tiles(every, aliases) else set()
    asked = [n for n in every if isinstance(n, ast.Attribute)]
    asked = [n for n in asked if n.attr in names.MEMBERS or n.attr == "reshape"]
    if not asked:
        return found
    tensors: set[str] = set()
    if _is_kernel(function, aliases):
        tensors |= {each.arg for each in (*function.args.args, *function.args.kwonlyargs)}
    calls = {id(n.func): n for n in every if isinstance(n, ast.Call)}
    for node in every:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            name = canonical(node.value.func, aliases) or ""
            if name.startswith(("language.", "isa.")):
                tensors |= {t.id for t in node.targets if isinstance(t, ast.Name)}
    for node in asked:
        owner = _viewed(node.value)
        if not isinstance(owner, ast.Name) or owner.id not in tensors:
            continue
        found.add(node.attr)
        call = calls.get(id(node))
        if call is not None:
            found |= {f"{node.attr}.{k.arg}" for k in call.keywords}
    return found & names.MEMBERS.keys()


def _is_kernel(function: ast.FunctionDef, aliases: Mapping[str, str]) -> bool:
    """Whether its decorator says so."""
    made = (d.func if isinstance(d, ast.Call) else d for d in function.decorator_list)
    return any(canonical(decorator, aliases) == "jit" for decorator in made)


def _returns_private(function: ast.FunctionDef, aliases: Mapping[str, str]) -> bool:
    """Whether a kernel returns what it has allocated in ``nl.hbm``."""
    if not _is_kernel(function, aliases):
        return False
    every = nodes.walk(function)
    private = {
        target.id
        for node in every
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for keyword in node.value.keywords
        if keyword.arg == "buffer" and canonical(keyword.value, aliases) == "language.hbm"
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    returned = (node.value for node in every if isinstance(node, ast.Return))
    parts = (r.elts if isinstance(r, ast.Tuple) else [r] for r in returned)
    return any(isinstance(x, ast.Name) and x.id in private for part in parts for x in part)


def _computes_with_tiles(every: Sequence[ast.AST], aliases: Mapping[str, str]) -> bool:
    """Whether an operator of Python's is given what an instruction returns: ``s += nl.load(x)``."""
    operands = [side for node in every for side in _sides(node)]
    if not operands:
        return False

    def is_tile(node: ast.AST) -> bool:
        name = canonical(node.func, aliases) if isinstance(node, ast.Call) else None
        return name is not None and isa.find(name) is not None

    tiles = {
        target.id
        for node in every
        if isinstance(node, ast.Assign) and is_tile(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return any(is_tile(n) or (isinstance(n, ast.Name) and n.id in tiles) for n in operands)


def _sides(node: ast.AST) -> tuple[ast.expr, ...]:
    if isinstance(node, ast.AugAssign):
        return node.target, node.value
    return (node.left, node.right) if isinstance(node, ast.BinOp) else ()


def _viewed(node: ast.expr) -> ast.expr:
    """The tensor that a chain of slices and views begins with: ``t`` of ``t[0:8].reshape(s)``."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr != "reshape" and node.func.attr not in names.MEMBERS:
                return node
            node = node.func.value
        else:
            return node


def _perhaps(every: Sequence[ast.AST], aliases: Collection[str]) -> set[str]:
    """What is asked of what may be a tensor: no class of the file has a thing of that name, and
    what it is asked of is no object that the file makes of another class."""
    asked = {
        node.attr
        for node in every
        if isinstance(node, ast.Attribute)
        and not (isinstance(node.value, ast.Name) and node.value.id in aliases)
        and not _is_object(_viewed(node.value))
    }
    own = {
        part.name
        for node in every
        if isinstance(node, ast.ClassDef)
        for part in node.body
        if isinstance(part, ast.FunctionDef)
    }
    return (asked & names.MEMBERS.keys()) - own


def _is_object(node: ast.expr) -> bool:
    """Whether something is made of a class, as its name says: ``Tile(x)``, ``tiles.Tile(x)``."""
    made = node.func if isinstance(node, ast.Call) else None
    name = made.attr if isinstance(made, ast.Attribute) else getattr(made, "id", "")
    return name[:1].isupper()


def _use(name: str, call: ast.Call) -> Use:
    keywords = frozenset(k.arg for k in call.keywords if k.arg is not None)
    starred = [isinstance(argument, ast.Starred) for argument in call.args]
    first = starred.index(True) if True in starred else len(starred)
    told = first == len(starred) and len(keywords) == len(call.keywords)
    absent: set[str | int] = {at for at in range(first) if _is_none(call.args[at])}
    absent |= {k.arg for k in call.keywords if k.arg is not None and _is_none(k.value)}
    return Use(name, keywords, len(starred) if told else None, frozenset(absent))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _package(
    tree: ast.AST, kernel: str, aliases: Mapping[str, str], either: Collection[str]
) -> str:
    """The namespace that a kernel's decorator is from; empty if a name of it may be either's."""
    for part in kernel.split("."):
        named = (node for node in ast.walk(tree) if getattr(node, "name", None) == part)
        inner = next(named, None)
        if inner is None:
            return ""
        tree = inner
    for decorator in getattr(tree, "decorator_list", ()):
        node = decorator.func if isinstance(decorator, ast.Call) else decorator
        while isinstance(node, ast.Attribute):
            node = node.value
        if isinstance(node, ast.Name) and node.id not in either:
            full = aliases.get(node.id, "")
            found = [package for package in _PACKAGES if _is_under(full, package)]
            if found:
                return found[0]
    return ""


def _either(tree: ast.AST) -> frozenset[str]:
    """The names of a file's imports that are bound to both of the namespaces."""
    found: dict[str, set[str]] = {}
    for node in nodes.statements(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            _, aliases = imported(node)
            for alias, full in aliases.items():
                for package in _PACKAGES:
                    if _is_under(full, package):
                        found.setdefault(alias, set()).add(package)
    return frozenset(alias for alias, packages in found.items() if len(packages) > 1)


def imported(tree: ast.AST) -> Imported:
    """What is imported (as :class:`Features` has it), and the dotted name that each alias is."""
    imports: set[str] = set()
    aliases: dict[str, str] = {}
    for node in nodes.statements(tree):
        if isinstance(node, ast.Import):
            for item in node.names:
                imports.add(item.name)
                first = item.name.split(".")[0]
                aliases[item.asname or first] = item.name if item.asname else first
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imports.add(node.module)
            for item in node.names:
                if item.name == "*":
                    continue
                dotted = f"{node.module}.{item.name}"
                imports.add(dotted)
                aliases[item.asname or item.name] = dotted
    if isinstance(tree, ast.Module):
        aliases = {**_implied(tree.body, aliases), **aliases}
    return imports, aliases


def _implied(body: Sequence[ast.stmt], aliases: Collection[str]) -> Mapping[str, str]:
    """What a fragment uses as if it were imported."""
    bound = {*aliases, *(getattr(statement, "name", "") for statement in body)}
    for statement in body:
        if isinstance(statement, ast.Assign):
            bound |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
    stars = (s for s in body if isinstance(s, ast.ImportFrom) and s.names[0].name == "*")
    return implied(bound, stars, body)


def canonical(node: ast.expr, aliases: Mapping[str, str]) -> str | None:
    """The name of the API that an expression is, as the tables have it, or None."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in aliases:
        return None
    dotted = ".".join([aliases[node.id], *reversed(parts)])
    dotted = dotted.removeprefix("neuronxcc.")
    if not dotted.startswith("nki."):
        return None
    path = dotted.removeprefix("nki.")
    parent, _, last = path.rpartition(".")
    namespace = names.NAMESPACES.get(parent)
    if namespace is None:
        return path
    return last if namespace == "nki" else f"{namespace}.{last}"


def fits(tree: ast.AST, generation: str) -> bool:
    """Whether nothing tells a file from one that is written for a generation."""
    return generation in _best(scan_features(tree))


def infer_generation(features: Features) -> str:
    """The generation that a file is written for: ``beta1``, ``0.2`` ... ``0.6``."""
    best = _best(features)
    return DEFAULT if DEFAULT in best else best[0]


def _best(features: Features) -> list[str]:
    """The generations that a file suits best, oldest first."""
    old = any(_is_under(name, "neuronxcc.nki") for name in features.imports)
    new = any(_is_under(name, "nki") for name in features.imports)
    if old and not new:
        return ["beta1"]
    framework = ("torch_neuronx.nki_jit", "jax_neuronx.nki_call")
    if not new and any(name in framework for name in features.imports):
        return ["beta1"]
    # both namespaces: a fallback import, and the calls tell which one the code is written for
    candidates = GENERATIONS if old or not new else GENERATIONS[1:]
    rejected = {g: _rejections(features, g) for g in candidates}
    fewest = min(rejected.values())
    best = [g for g in candidates if rejected[g] == fewest]
    doubted = {g: _doubts(features, g) for g in best}
    return [g for g in best if doubted[g] == min(doubted.values())]


def _is_under(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def _rejections(features: Features, generation: str) -> int:
    count = 0
    if "platform_target" in features.jit_keywords and newer(generation, "0.3"):
        count += 1
    for use in features.uses:
        if not generations_with(use.name):
            continue
        signature = lookup(use.name, generation)
        if signature is None:
            count += 1
            continue
        unknown = {k for k in use.keywords if k not in signature.names}
        if generation == "0.2":
            unknown.discard("dtype")
        if unknown or use.lacks(signature):
            count += 1
    called = {use.name for use in features.uses}
    for name in features.names:
        has = names.value_in(name, generation)
        if not has or (name not in called and not names.function_in(name, generation)):
            count += 1
    for name in features.members:
        if not names.member_in(name, generation):
            count += 1
    return count


def _doubts(features: Features, generation: str) -> int:
    """How much there is in a file that perhaps does not suit a generation (NKI-M060)."""
    count = sum(not names.member_in(name, generation) for name in features.perhaps)
    return count + (features.private and not DESCRIBED[generation].hbm_returned)


def import_problem(generation: str, dotted: str) -> tuple[str, tuple[str, ...]] | None:
    """Why an import does not fit a generation, with facts, or None (NKI-M001, NKI-M091)."""
    if _is_under(dotted, "neuronxcc.nki") and newer(generation, "0.4"):
        return (
            f"`{dotted}` is not available to kernels since NKI 0.4; import "
            f"`{dotted.removeprefix('neuronxcc.')}`",
            ("M001", "M091"),
        )
    return None


def jit_problem(generation: str, keyword: str) -> tuple[str, tuple[str, ...]] | None:
    """Why a keyword of ``nki.jit`` does not fit a generation, with facts, or None (NKI-L71)."""
    if keyword == "platform_target" and newer(generation, "0.3"):
        return (
            "`nki.jit` does not take `platform_target=` since NKI 0.3; the target comes from "
            "`NEURON_PLATFORM_TARGET_OVERRIDE`",
            ("L71", "M067"),
        )
    return None


__all__ = [
    "DEFAULT",
    "Features",
    "canonical",
    "fits",
    "generations_of",
    "import_problem",
    "imported",
    "infer_generation",
    "jit_problem",
    "scan_features",
]
