"""Data classes."""

from __future__ import annotations

import pytest

from tests.python.programs import RECORD_IMPORTS, same, same_for

PROGRAMS = {
    "fields and defaults": """
@dataclass
class P:
    x: int
    y: int = 2
    z: int = field(default=3)
    tags: list = field(default_factory=list)
def run():
    a, b = P(1), P(4, 5, z=6)
    a.tags.append(1)
    return a.x, a.y, a.z, a.tags, b.tags, b.z, P.y, hasattr(P, "tags"), P.z
""",
    "a missing argument": """
@dataclass
class P:
    x: int
def run():
    return P()
""",
    "an unknown argument": """
@dataclass
class P:
    x: int
def run():
    return P(1, y=2)
""",
    "equality and representation": """
@dataclass
class P:
    x: int
    y: str = "a"
    hidden: int = field(default=0, repr=False, compare=False)
@dataclass
class Q:
    x: int
    y: str = "a"
def run():
    return (P(1) == P(1), P(1) == P(2), P(1) != P(2), P(1) == Q(1), P(1, hidden=1) == P(1),
            repr(P(1)), str(Q(2, "b")), P(1) == 1)
""",
    "order": """
@dataclass(order=True)
class P:
    x: int
    y: int = 0
def run():
    return (
        P(1) < P(2), P(1, 5) < P(1, 2), max(P(1), P(3)).x, sorted([P(2), P(1)])[0].x,
        P(1) >= P(1),
    )
""",
    "no order": """
@dataclass
class P:
    x: int
def run():
    return P(1) < P(2)
""",
    "order with another type": """
@dataclass(order=True)
class P:
    x: int
def run():
    return P(1) < 2
""",
    "frozen": """
@dataclass(frozen=True)
class P:
    x: int
    y: int = 1
    def __post_init__(self):
        object.__setattr__(self, "y", self.x * 2)
def run():
    p = P(3)
    try:
        p.x = 4
    except FrozenInstanceError as e:
        return p.y, p.x, isinstance(e, AttributeError), {p: 1}[P(3)], len({P(1), P(1), P(2)})
""",
    "frozen and uncaught": """
@dataclass(frozen=True)
class P:
    x: int
def run():
    del P(1).x
""",
    "unhashable": """
@dataclass
class P:
    x: int
def run():
    return {P(1)}
""",
    "identity as hash": """
@dataclass(eq=False)
class P:
    x: int
def run():
    a, b = P(1), P(1)
    return a == b, len({a, b})
""",
    "unsafe hash": """
@dataclass(unsafe_hash=True)
class P:
    x: int
    y: int = field(default=0, hash=False)
def run():
    return {P(1, 2): "a"}[P(1, 2)]
""",
    "keyword only": """
@dataclass
class P:
    x: int
    _: KW_ONLY
    y: int = 0
    z: int
@dataclass(kw_only=True)
class Q:
    a: int = 1
    b: int
@dataclass
class R:
    a: int = field(kw_only=True)
    b: int = 3
def run():
    return P(1, z=2).z, Q(b=2).a, R(4, a=5).b, [f.name for f in fields(P)], P(1, 2, z=1)
""",
    "a default before none": """
def run():
    @dataclass
    class P:
        x: int = 1
        y: int
""",
    "a mutable default": """
def run():
    @dataclass
    class P:
        x: list = []
""",
    "class variables and init variables": """
@dataclass
class P:
    x: int
    scale: InitVar[int]
    count: ClassVar[int] = 7
    other: typing.ClassVar = 8
    y: int = field(init=False)
    extra: InitVar[int] = 100
    def __post_init__(self, scale, extra):
        self.y = self.x * scale + extra
def run():
    p = P(3, 2)
    return p.y, p.count, p.other, [f.name for f in fields(p)], P(1, 1, 0).y, p
""",
    "an init variable is no attribute": """
@dataclass
class P:
    x: int
    scale: InitVar[int]
def run():
    return P(3, 2).scale
""",
    "inheritance": """
@dataclass
class A:
    x: int
    y: int = 2
@dataclass
class B(A):
    z: int = 3
    x: int = 10
class C(B):
    w: int = 5
    def total(self): return self.x + self.y + self.z + self.w
def run():
    return B().x, B(1, 2, 3).z, C(1).total(), [f.name for f in fields(B)], isinstance(B(), A)
""",
    "a default in the base": """
@dataclass
class A:
    x: int = 1
def run():
    @dataclass
    class B(A):
        y: int
""",
    "frozen from one that is not": """
@dataclass
class A:
    x: int = 1
def run():
    @dataclass(frozen=True)
    class B(A):
        y: int = 2
""",
    "a constructor of one's own": """
@dataclass
class P:
    x: int
    def __init__(self, v): self.x = v * 2
    def __repr__(self): return "mine"
    def __eq__(self, o): return True
def run():
    return P(2).x, repr(P(1)), P(1) == P(2)
""",
    "post-init of the base": """
@dataclass
class A:
    x: int
    def __post_init__(self): self.seen = ["A"]
@dataclass
class B(A):
    y: int = 0
    def __post_init__(self):
        super().__post_init__()
        self.seen.append("B")
def run():
    return B(1).seen
""",
    "replace": """
@dataclass(frozen=True)
class P:
    x: int
    y: int = 1
    z: int = field(init=False, default=5)
def run():
    p = P(1)
    return replace(p, x=4), replace(p).y, p.x, replace(p, x=2) == P(2)
""",
    "replace what is not initialised": """
@dataclass
class P:
    z: int = field(init=False, default=5)
def run():
    return replace(P(), z=1)
""",
    "asdict and astuple": """
@dataclass
class A:
    n: int
@dataclass
class B:
    a: A
    items: list
    table: dict
    pair: tuple = (A(7), 8)
def run():
    b = B(A(1), [A(2), 3], {"k": A(4)})
    d = asdict(b)
    d["items"].append(5)
    return d, astuple(b), len(b.items)
""",
    "fields and is_dataclass": """
@dataclass
class A:
    n: int = 4
    m: list = field(default_factory=list)
def run():
    f, g = fields(A)
    return (f.name, f.default, g.name, g.default_factory is list, is_dataclass(A),
            is_dataclass(A()),
            is_dataclass(int), f.init, A.__match_args__)
""",
    "slots": """
@dataclass(slots=True)
class P:
    x: int
    y: int = 2
def run():
    p = P(1)
    p.y = 5
    out = p.x, p.y, p == P(1, 5)
    p.z = 1
    return out
""",
    "methods, properties and defaults of the module": """
BASE = 16
@dataclass
class Tile:
    rows: int
    cols: int = BASE * 2
    names: tuple = ("a", "b")
    parent: Optional["Tile"] = None
    @property
    def area(self): return self.rows * self.cols
    def grown(self, k): return replace(self, rows=self.rows * k)
def run():
    t = Tile(2)
    return t.area, t.grown(3).area, t.names, t.parent, Tile(1, parent=t).parent.rows
""",
    "a factory that is a lambda or a class": """
@dataclass
class In:
    v: int = 3
@dataclass
class Out:
    a: In = field(default_factory=In)
    b: dict = field(default_factory=lambda: {"k": 1})
def run():
    x, y = Out(), Out()
    x.b["k"] = 2
    return x.a.v, x.a is y.a, y.b, x.a == y.a
""",
    "a frozen class in a dictionary": """
@dataclass(frozen=True)
class K:
    a: int
    b: str
def run():
    d = {K(1, "x"): 10}
    d[K(1, "x")] += 1
    d[K(2, "x")] = 5
    return d[K(1, "x")], K(1, "y") in d, len(d)
""",
    "a data class: nested frozen in set and sort": """
@dataclass(frozen=True, order=True)
class K:
    a: int
    b: tuple = ()
def run():
    s = {K(1), K(1, (2,)), K(1)}
    return (
        len(s), sorted([K(2), K(1, (5,)), K(1)])[1].b, K(1) in s, min(K(3), K(2)).a,
        K(1) == K(1, ()), K(1) <= K(1),
    )
""",
    "a data class: default none and union annotation": """
@dataclass
class A:
    x: "int | None" = None
    y: Optional[List[int]] = None
    z: Callable[[int], int] = lambda v: v + 1
def run():
    a = A()
    return a.x, a.y, A(y=[1]).y, a.z(3)
""",
    "a data class: function default binds?": """
def f(v): return v
@dataclass
class A:
    g: object = f
def run():
    return A().g(3)
""",
    "a data class: inheritance override default with field": """
@dataclass
class A:
    x: int = 1
    y: int = field(default=2, repr=False)
@dataclass
class B(A):
    y: int = field(default=5)
    z: list = field(default_factory=lambda: [1])
def run():
    return repr(A()), repr(B()), B(3, 4, [9]).z
""",
    "a data class: eq with list": """
@dataclass
class A:
    x: list
def run():
    return A([1]) == A([1]), A([1]) == A([2]), A([1]) in [A([1])]
""",
    "a data class: __eq__ custom keeps hash none": """
@dataclass(frozen=True)
class A:
    x: int
    def __eq__(self, o): return True
def run():
    return A(1) == A(2), hash(A(1)) == hash((1,))
""",
    "a data class: explicit hash": """
@dataclass
class A:
    x: int
    def __hash__(self): return 5
def run():
    return hash(A(1))
""",
    "a data class: post init property": """
@dataclass
class A:
    w: int
    h: int = 2
    area: int = field(init=False)
    def __post_init__(self): self.area = self.w * self.h
def run():
    a = A(3)
    b = replace(a, w=5)
    return a.area, b.area, [f.name for f in fields(A) if f.init], asdict(b), astuple(a)
""",
    "a data class: kw_only inheritance": """
@dataclass(kw_only=True)
class A:
    a: int = 1
@dataclass
class B(A):
    b: int
def run():
    return B(5).a, B(5, a=2).a, B(b=3, a=4).b
""",
    "a data class: missing kw": """
@dataclass(kw_only=True)
class A:
    a: int
def run(): return A(1)
""",
    "a data class: match args": """
@dataclass
class A:
    a: int
    b: int = field(default=1, kw_only=True)
    c: int = field(default=2, init=False)
def run():
    match A(4):
        case A(x): return x, A.__match_args__
""",
    "a data class: slots with default and inheritance": """
@dataclass(slots=True)
class A:
    x: int = 1
@dataclass(slots=True)
class B(A):
    y: int = 2
def run():
    b = B()
    try: b.z = 1
    except AttributeError: return b.x, b.y, B.__slots__, B(3, 4) == B(3, 4)
""",
    "a data class: frozen slots": """
@dataclass(frozen=True, slots=True)
class A:
    x: int = 1
def run():
    a = A()
    try: a.x = 2
    except FrozenInstanceError: return a.x, hash(a) == hash(A(1)), {a: 3}[A(1)]
""",
    "a data class: order raises": """
def run():
    @dataclass(order=True)
    class A:
        x: int
        def __lt__(self, o): return True
""",
    "a data class: eq false order": """
def run():
    @dataclass(order=True, eq=False)
    class A:
        x: int
""",
    "a data class: field without annotation": """
def run():
    @dataclass
    class A:
        x = field(default=1)
""",
    "a data class: both defaults": """
def run(): return field(default=1, default_factory=list)
""",
    "a data class: with method named like builtins": """
@dataclass
class A:
    items: list = field(default_factory=list)
    def add(self, x):
        self.items.append(x)
        return self
    def __len__(self): return len(self.items)
    def __iter__(self): return iter(self.items)
    def __contains__(self, x): return x in self.items
def run():
    a = A().add(1).add(2)
    return len(a), list(a), 2 in a, bool(A()), [*a]
""",
    "a data class: asdict frozen nested tuple": """
@dataclass(frozen=True)
class A:
    x: int
@dataclass
class B:
    a: A
    t: Tuple[A, ...]
    d: Dict[str, List[A]]
def run():
    b = B(A(1), (A(2), A(3)), {"k": [A(4)]})
    d = asdict(b)
    return d, b.d["k"][0] == A(4), astuple(b), d["t"][1]["x"]
""",
    "a data class: asdict wrong": """
def run(): return asdict(3)
""",
    "a data class: replace wrong": """
@dataclass
class A: x: int
def run(): return replace(A(1), y=2)
""",
    "a data class: is_dataclass subclass": """
@dataclass
class A: x: int = 0
class B(A): pass
def run(): return is_dataclass(B), is_dataclass(B()), is_dataclass(3), fields(B)[0].name
""",
    "cast NewType etc": """
Id = NewType("Id", int)
T = TypeVar("T", bound=int)
def f(x: T) -> T: return cast(int, x) + 1
def run(): return f(3), Id(4) + 1, TYPE_CHECKING
""",
    "generic dataclass": """
T = TypeVar("T")
@dataclass
class Box(Generic[T]):
    v: T
    n: int = 1
def run(): return Box[int](3).v, Box(4, n=2).n, Box[str]("a") == Box("a")
""",
    "classvar enumeration defaults": """
class M(Enum):
    A = 0
    B = 1
@dataclass
class Cfg:
    mode: M = M.A
    table: ClassVar[dict] = {M.A: 1}
    def pick(self): return self.table.get(self.mode, 0)
def run(): return Cfg().pick(), Cfg(M.B).pick(), Cfg(mode=M.B).mode.name
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    text = PROGRAMS[name]
    if name in ("class variables and init variables", "replace"):
        text = text.replace(", P(1, 1, 0).y, p\n", ", P(1, 1, 0).y\n")
        text = text.replace("replace(p, x=4), ", "replace(p, x=4).x, ")
    same(RECORD_IMPORTS + text)


def test_fields_that_depend_on_the_inputs() -> None:
    same_for(
        RECORD_IMPORTS
        + """
@dataclass(order=True)
class Tile:
    rows: int
    cols: int = 4
    def __post_init__(self):
        if self.rows > 2:
            self.cols = self.rows
    @property
    def area(self): return self.rows * self.cols
def run(a, b):
    s, t = Tile(a), Tile(b, 2)
    best = max(s, t)
    return best.area, s == t, s < t, replace(s, rows=b).cols, asdict(t)["cols"], astuple(s)
""",
        a=range(5),
        b=range(4),
    )
