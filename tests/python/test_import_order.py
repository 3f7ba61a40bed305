"""Programs of several modules: what their imports do, and in which order, is what CPython does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.python.support import imported, result_of
from verifier.symbolic.python.concrete import to_host
from verifier.symbolic.trace import LedgerKind

SETTINGS = "SIZES = [1, 2]\nCOUNT = 3\nNAMES = {}\n\n\ndef total():\n    return sum(SIZES)\n"

PROGRAMS: dict[str, dict[str, str]] = {
    "an import for its effect": {
        "settings.py": SETTINGS,
        "patch.py": "import settings\nsettings.SIZES.append(3)\n",
        "main.py": "import settings\nimport patch\nresult = list(settings.SIZES)\n",
    },
    "the effect comes after a reading": {
        "settings.py": SETTINGS,
        "patch.py": "import settings\nsettings.SIZES.append(3)\nsettings.COUNT = 7\n",
        "main.py": (
            "import settings\nbefore = len(settings.SIZES), settings.COUNT\n"
            "from settings import COUNT\nimport patch\n"
            "result = before, len(settings.SIZES), settings.COUNT, COUNT, settings.total()\n"
        ),
    },
    "what another module read before": {
        "settings.py": SETTINGS,
        "early.py": "from settings import SIZES, COUNT\nLENGTH = len(SIZES)\nTWICE = COUNT * 2\n",
        "patch.py": "import settings\nsettings.SIZES.append(3)\nsettings.COUNT = 7\n",
        "main.py": (
            "import early\nimport patch\nimport settings\n"
            "result = early.LENGTH, early.TWICE, early.COUNT, settings.COUNT, len(early.SIZES)\n"
        ),
    },
    "what another module reads after": {
        "settings.py": SETTINGS,
        "late.py": "from settings import SIZES, COUNT\nLENGTH = len(SIZES)\n",
        "patch.py": "import settings\nsettings.SIZES.append(3)\nsettings.COUNT = 7\n",
        "main.py": "import patch\nimport late\nresult = late.LENGTH, late.COUNT\n",
    },
    "a chain of imports": {
        "settings.py": SETTINGS,
        "one.py": "import two\n",
        "two.py": "from three import done\n",
        "three.py": "import settings\nsettings.NAMES['three'] = len(settings.NAMES)\ndone = True\n",
        "four.py": "from settings import NAMES\nNAMES['four'] = len(NAMES)\n",
        "main.py": "import four\nimport one\nimport settings\nresult = settings.NAMES\n",
    },
    "a registry of functions": {
        "registry.py": (
            "KNOWN = []\n\n\ndef register(name):\n    def enter(f):\n"
            "        KNOWN.append((name, f(2)))\n        return f\n    return enter\n"
        ),
        "plugins.py": (
            "from registry import register\n\n\n@register('double')\ndef double(x):\n"
            "    return 2 * x\n\n\n@register('square')\ndef square(x):\n    return x * x\n"
        ),
        "main.py": "from registry import KNOWN\nimport plugins\nresult = list(KNOWN)\n",
    },
    "a registry of classes": {
        "base.py": (
            "KNOWN = []\n\n\nclass Base:\n    def __init_subclass__(cls, **more):\n"
            "        KNOWN.append(cls.__name__)\n"
        ),
        "plugins.py": "from base import Base\n\n\nclass One(Base):\n    pass\n",
        "main.py": "import base\nimport plugins\nresult = list(base.KNOWN)\n",
    },
    "a call that counts": {
        "counter.py": (
            "_count = [0]\n\n\ndef fresh():\n    _count[0] += 1\n    return _count[0]\n"
        ),
        "a.py": "from counter import fresh\nNUMBER = fresh()\n",
        "b.py": "from counter import fresh\nNUMBER = fresh()\n",
        "main.py": "import b\nimport a\nimport counter\nresult = a.NUMBER, b.NUMBER\n",
    },
    "a counter that is declared global": {
        "counter.py": (
            "count = 0\n\n\ndef fresh():\n    global count\n    count += 1\n    return count\n"
        ),
        "a.py": "import counter\nNUMBER = counter.fresh()\n",
        "b.py": "import counter\nNUMBER = counter.fresh()\n",
        "main.py": "import b, a\nimport counter\nresult = a.NUMBER, b.NUMBER, counter.count\n",
    },
    "modules that import each other": {
        "a.py": "import log\nlog.LINES.append('a starts')\nimport b\nlog.LINES.append('a ends')\n",
        "b.py": "import log\nlog.LINES.append('b starts')\nimport a\nlog.LINES.append('b ends')\n",
        "log.py": "LINES = []\n",
        "main.py": "import b\nimport a\nimport log\nresult = log.LINES\n",
    },
    "a module seen half done": {
        "a.py": "import log\nFIRST = 1\nimport b\nSECOND = 2\n",
        "b.py": (
            "import log\nimport a\n"
            "log.LINES.append((hasattr(a, 'FIRST'), hasattr(a, 'SECOND'), hasattr(a, 'later')))\n"
        ),
        "log.py": "LINES = []\n",
        "main.py": "import a\nimport log\nresult = log.LINES, a.SECOND\n",
    },
    "a package": {
        "pack/__init__.py": "ORDER = ['pack']\nfrom . import one\n",
        "pack/one.py": "import pack\npack.ORDER.append('one')\n",
        "pack/two.py": "from . import ORDER\nORDER.append('two')\n",
        "pack/sub/__init__.py": "from .. import ORDER\nORDER.append('sub')\n",
        "pack/sub/three.py": "from .. import ORDER\nORDER.append('three')\n",
        "main.py": "import pack.sub.three\nfrom pack import two\nresult = pack.ORDER\n",
    },
    "all names of a module": {
        "settings.py": SETTINGS,
        "patch.py": "import settings\nsettings.COUNT = 9\nsettings.SIZES.append(4)\n",
        "main.py": "from settings import *\nimport patch\nresult = COUNT, SIZES, total()\n",
    },
    "a default and a class that read what changes": {
        "settings.py": SETTINGS,
        "early.py": (
            "import settings\n\n\ndef first(n=len(settings.SIZES)):\n    return n\n\n\n"
            "class Held:\n    size = len(settings.SIZES)\n"
        ),
        "patch.py": "import settings\nsettings.SIZES.append(3)\n",
        "main.py": "import early\nimport patch\nresult = early.first(), early.Held.size\n",
    },
    "an import in a condition": {
        "settings.py": SETTINGS,
        "patch.py": "import settings\nsettings.SIZES.append(3)\n",
        "main.py": (
            "import settings\nif settings.COUNT == 3:\n    import patch\n"
            "try:\n    from settings import SIZES\nexcept ImportError:\n    SIZES = []\n"
            "result = len(SIZES)\n"
        ),
    },
    "an import for types alone": {
        "settings.py": SETTINGS,
        "patch.py": "import settings\nsettings.SIZES.append(3)\n",
        "main.py": (
            "from typing import TYPE_CHECKING\nimport settings\n"
            "if TYPE_CHECKING:\n    import patch\nresult = len(settings.SIZES)\n"
        ),
    },
    "no effects at all": {
        "settings.py": SETTINGS,
        "shapes.py": (
            "from settings import COUNT\nTILE = COUNT * 4\n\n\ndef tile(n):\n    return n * TILE\n"
        ),
        "main.py": "from shapes import tile\nimport settings\nresult = tile(2), settings.total()\n",
    },
    "modules of a package that are found by looking": {
        "pack/__init__.py": (
            "import importlib\nimport pkgutil\n\nFOUND = []\n"
            "for _finder, _name, _ispkg in pkgutil.iter_modules(__path__):\n"
            "    part = importlib.import_module(f'.{_name}', __name__)\n"
            "    FOUND.append((_name, _ispkg, part.SIZE))\n"
        ),
        "pack/one.py": "SIZE = 1\n",
        "pack/two/__init__.py": "from .deep import SIZE\n",
        "pack/two/deep.py": "SIZE = 2\n",
        "pack/notes/readme.txt": "no package\n",
        "main.py": "import pack\nresult = pack.FOUND, pack.one.SIZE, __name__, pack.__package__\n",
    },
    "a registry that modules found by looking fill": {
        "pack/__init__.py": "KNOWN = []\n",
        "pack/registry.py": "KNOWN = {}\n",
        "pack/load.py": (
            "import pkgutil\nfrom importlib import import_module\nimport pack\n"
            "for info in pkgutil.iter_modules(pack.__path__, 'pack.'):\n"
            "    if info.name.startswith('pack.kernel_'):\n        import_module(info.name)\n"
        ),
        "pack/kernel_a.py": "from pack.registry import KNOWN\nKNOWN['a'] = len(KNOWN)\n",
        "pack/kernel_b.py": "from pack.registry import KNOWN\nKNOWN['b'] = len(KNOWN)\n",
        "main.py": (
            "from pack.registry import KNOWN\nbefore = dict(KNOWN)\nimport pack.load\n"
            "result = before, KNOWN\n"
        ),
    },
    "a module that is imported by a name": {
        "settings.py": SETTINGS,
        "pack/__init__.py": "",
        "pack/sub/__init__.py": "WHERE = __package__\n",
        "pack/sub/one.py": (
            "from importlib import import_module\nTWO = import_module('..two', __package__)\n"
            "WHERE = __package__\n"
        ),
        "pack/two.py": "WHERE = __name__\n",
        "main.py": (
            "import importlib\nname = 'settings'\nsettings = importlib.import_module(name)\n"
            "one = importlib.import_module('pack.sub.one')\n"
            "try:\n    importlib.import_module('.nothing')\nexcept TypeError as error:\n"
            "    said = str(error)\n"
            "try:\n    importlib.import_module('...nothing', 'pack.sub')\n"
            "except ImportError as error:\n    said = said, str(error)\n"
            "result = settings.total(), one.WHERE, one.TWO.WHERE, said, "
            "getattr(settings, 'COUNT'), one.TWO.__name__\n"
        ),
    },
    "all packages below one": {
        "pack/__init__.py": (
            "import pkgutil\n"
            "FOUND = [(m.name, m.ispkg) for m in pkgutil.walk_packages(__path__, 'pack.')]\n"
        ),
        "pack/a/__init__.py": "",
        "pack/a/b/__init__.py": "",
        "pack/a/b/c.py": "",
        "pack/d.py": "",
        "main.py": "import pack\nresult = pack.FOUND\n",
    },
    "an import that is given to another module": {
        "settings.py": SETTINGS,
        "plugins/__init__.py": "",
        "plugins/patch.py": "import settings\nsettings.SIZES.append(3)\n",
        "main.py": (
            "import settings\nfrom importlib import import_module\n"
            "patched = import_module('plugins.patch')\nresult = settings.total()\n"
        ),
    },
    "a module imported by its name changes another": {
        "settings.py": SETTINGS,
        "patch.py": "import settings\nsettings.COUNT = 9\n",
        "main.py": (
            "import importlib\nfrom settings import COUNT\nbefore = COUNT\n"
            "importlib.import_module('patch')\nfrom settings import COUNT as after\n"
            "result = before, after\n"
        ),
    },
    "a module that is replaced in part": {
        "tools.py": "def size():\n    return 1\n\n\ndef twice():\n    return 2 * size()\n",
        "patch.py": "import tools\n\n\ndef other():\n    return 5\n\n\ntools.size = other\n",
        "main.py": (
            "from tools import size\nimport patch\nimport tools\nresult = size(), tools.twice()\n"
        ),
    },
}


#: programs of which it is not followed what they import
LOST: dict[str, dict[str, str]] = {
    "a name that is computed": {
        "settings.py": SETTINGS,
        "patch.py": "import settings\nsettings.COUNT = 9\n",
        "main.py": (
            "import importlib\nname = ''.join(['pat', 'ch'])\nimportlib.import_module(name)\n"
            "from settings import COUNT\nresult = COUNT\n"
        ),
    },
    "a name that is not known": {
        "settings.py": SETTINGS,
        "main.py": (
            "import importlib, os\nfrom settings import COUNT\n"
            "importlib.import_module(os.uname().sysname)\nresult = COUNT\n"
        ),
    },
    "modules of a folder that is not known": {
        "pack/__init__.py": (
            "import pkgutil, importlib\n__path__.append('/nowhere/' + __name__)\nCOUNT = 1\n"
            "for m in pkgutil.iter_modules(['/tmp']):\n    importlib.import_module(m.name)\n"
        ),
        "main.py": "import pack\nresult = pack.COUNT\n",
    },
}


@pytest.mark.parametrize("name", LOST)
def test_what_may_import_anything_leaves_nothing_known(tmp_path: Path, name: str) -> None:
    for file, text in LOST[name].items():
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    vm, _ = imported(tmp_path)
    assert any(entry.kind is LedgerKind.SKIPPED for entry in vm.trace.ledger)


@pytest.mark.parametrize("name", PROGRAMS)
def test_modules_run_as_they_do_in_cpython(tmp_path: Path, name: str) -> None:
    for file, text in PROGRAMS[name].items():
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    vm, value = imported(tmp_path)
    assert not vm.trace.ledger, vm.trace.ledger
    assert to_host(vm, value) == result_of(tmp_path)
