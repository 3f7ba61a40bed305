"""What statements of a module that are not followed may have changed, and what they leave alone."""

from __future__ import annotations

import pytest

from tests.python.support import machine, run
from verifier.symbolic.trace import LedgerKind
from verifier.symbolic.values import Opaque

HEAD = """
import lib, math, builtins, sys, os, logging, argparse
from lib import thing
"""

CHANGED = {
    "module": """
X=1
m=sys.modules[__name__]
m.X=2
def run(): return X
""",
    "inalist": """
class C:
    a=1
L=[C]
lib.patch(L)
def run(): return C.a
""",
    "mro": """
class C:
    a=1
class D(C): pass
lib.patch(D.__mro__)
def run(): return C.a
""",
    "globals": """
X=1
globals()['X']=2
def run(): return X
""",
    "exec": """
X=1
exec('X = 2')
def run(): return X
""",
    "eval": """
X=[1]
eval('X.append(2)')
def run(): return X
""",
    "setattr": """
X=1
setattr(sys.modules[__name__],'X',2)
def run(): return X
""",
    "f": """
X=1
def f():
    globals()['X']=2
f()
def run(): return X
""",
    "patchg": """
X=1
lib.patch(globals())
def run(): return X
""",
    "alias": """
X=[1]
Y=X
lib.patch(Y)
def run(): return len(X)
""",
    "inlist": """
X=[1]
Y=[X]
lib.patch(Y)
def run(): return len(X)
""",
    "inlist2": """
X=[1]
Y=[X]
lib.patch(X)
def run(): return len(Y[0])
""",
    "cell": """
def mk():
    n=0
    def inc():
        nonlocal n
        n+=1
    def get():
        return n
    return inc,get
inc,get=mk()
lib.patch(inc)
def run(): return get()
""",
    "cell2": """
def mk():
    n=[0]
    def inc():
        n.append(1)
    def get():
        return len(n)
    return inc,get
inc,get=mk()
lib.patch(inc)
def run(): return get()
""",
    "class": """
class C:
    a=1
lib.patch(C)
def run(): return C.a
""",
    "classinst": """
class C:
    a=1
c=C()
lib.patch(C)
def run(): return c.a
""",
    "sub": """
class C:
    a=1
class D(C):
    b=1
lib.patch(C)
def run(): return D.a
""",
    "default": """
X=[1]
def f(a=X): return len(a)
lib.patch(X)
def run(): return f()
""",
    "default2": """
def f(a=[]): return len(a)
def g():
    f().b
    lib.go(f)
lib.patch(f)
def run(): return f()
""",
    "ceil": """
math.ceil=lambda x: 7
def run(): return math.ceil(1.5)
""",
    "len": """
builtins.len=lambda x: 7
def run(): return len([1])
""",
    "libmath": """
lib.patch(math)
def run(): return math.ceil(1.5)
""",
    "libnone": """
lib.a = None
def run(): return lib.a is None
""",
    "glob": """
X=1
def f():
    global X
    X=2
lib.run(f)
def run(): return X
""",
    "clsvia": """
class C:
    a=1
    @classmethod
    def s(cls):
        cls.a=2
lib.run(C.s)
def run(): return C.a
""",
    "inst": """
class C:
    a=1
    def s(self):
        type(self).a=2
c=C()
lib.run(c)
def run(): return C.a
""",
    "attr": """
class C:
    x=[1]
lib.run(C.x)
def run(): return len(C.x)
""",
    "clsfn": """
class C:
    a=1
def f(): C.a=2
lib.run(f)
def run(): return C.a
""",
    "indirect": """
X=[1]
def g(): X.append(1)
def f(): g()
lib.run(f)
def run(): return len(X)
""",
}

KEPT = {
    "reg": """
X=1
def f(x): return X
lib.register(f)
def run(): return f(1), X
""",
    "log": """
X=[1]
logger=logging.getLogger(__name__)
logger.setLevel(logging.INFO)
logger.propagate=False
logging.basicConfig(level=logging.INFO)
def run(): return X[0]
""",
    "env": """
X=[1]
os.environ['A']='1'
sys.path.append('x')
sys.path.insert(0, os.path.dirname(__file__))
def run(): return X[0]
""",
    "seed": """
X=[1]
lib.manual_seed(0)
lib.backends.x.y=True
def run(): return X[0]
""",
    "main": """
X=[1]
if __name__=='__main__':
    p=argparse.ArgumentParser()
    exec('X=2')
def run(): return X[0]
""",
    "argp": """
X=[1]
p=argparse.ArgumentParser()
p.add_argument('--x', type=int)
args=p.parse_args([])
def run(): return X[0]
""",
    "regcls": """
class C:
    a=1
    def __init__(self, x): self.x=x
def f(): return C(2).x
lib.register(f)
def run(): return f(), C.a
""",
    "other": """
X=[1]
Y=[2]
lib.register(Y)
def run(): return X[0]
""",
}


def is_known(text: str) -> bool:
    vm = machine(HEAD + text)
    before = [entry for entry in vm.trace.ledger if entry.kind is LedgerKind.SKIPPED]
    outcome = run(vm, "run()")
    return not before and not outcome.skipped and not isinstance(outcome.value, Opaque)


@pytest.mark.parametrize("name", CHANGED)
def test_what_may_have_been_changed_is_not_known(name: str) -> None:
    assert not is_known(CHANGED[name])


@pytest.mark.parametrize("name", KEPT)
def test_what_cannot_have_been_changed_is_known(name: str) -> None:
    assert is_known(KEPT[name])


STARS = {
    "a number": "X = 1\nfrom lib import *\ndef run(): return X\n",
    "a function": "def f(): return 1\nfrom lib import *\ndef run(): return f()\n",
    "a built-in function": "from lib import *\ndef run(): return len([1])\n",
    "on some paths": "X = 1\nif thing:\n    from lib import *\ndef run(): return X\n",
    "of a package": "X = 1\nfrom .lib import *\ndef run(): return X\n",
}
KNOWN_STARS = {
    "bound later": "X = 1\nfrom lib import *\nX = 2\ndef run(): return X\n",
    "defined later": "from lib import *\ndef f(): return 2\ndef run(): return f()\n",
    "a private name": "_X = 1\nfrom lib import *\ndef run(): return _X\n",
    "a library that is known": "X = 1\nfrom typing import *\ndef run(): return X, len([1])\n",
    "hidden by it": "ceil = 1\nfrom math import *\ndef run(): return ceil(1.5)\n",
}


@pytest.mark.parametrize("name", STARS)
def test_an_unknown_star_import_may_hide_what_is_bound_before_it(name: str) -> None:
    assert not is_known(STARS[name])


@pytest.mark.parametrize("name", KNOWN_STARS)
def test_a_star_import_leaves_alone_what_it_cannot_bind(name: str) -> None:
    assert is_known(KNOWN_STARS[name])
