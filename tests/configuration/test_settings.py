"""Which settings hold for a file: where they are looked for, and what wins."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.configuration.model import ConfigurationError, Overrides, Resolved
from verifier.configuration.settings import Configurations
from verifier.configuration.table import said_of
from verifier.rulebase import all_rules
from verifier.service.policy import Policy

from .support import mistakes, tree


def origins(found: Resolved, key: str) -> list[str]:
    return [str(entry.origin) for entry in said_of(found)[key].entries]


def of_family(family: str) -> set[str]:
    return {rule.id for rule in all_rules() if rule.family == family}


# ------------------------------------------------------------------------------ finding


def test_without_configuration_the_defaults_hold(root: Path) -> None:
    found = Configurations().for_file("gemm.py")
    assert found.file is None
    assert found.settings.timeout == 60
    assert found.settings.jobs is None
    entries = [entry for given in said_of(found).values() for entry in given.entries]
    assert {str(entry.origin) for entry in entries} == {"default"}
    policy = Policy(Configurations())
    policy.settled("gemm.py")
    request = policy.request("gemm.py", ("src",), tiles=True)
    assert (request.path, request.roots) == (str(root / "gemm.py"), ("src",))
    assert request.tiles
    assert (request.targets, request.contracts, request.select) == ((), (), ())


def test_the_nearest_file_holds_alone(root: Path) -> None:
    tree(
        root,
        pyproject='[project]\nname = "p"\n[tool.tilelint]\ntargets = ["trn1"]\njobs = 3\n',
        src__fast__tilelint='targets = ["trn3"]\n',
        src__slow__pyproject='[tool.other]\nname = "tilelint"\n',
    )
    configurations = Configurations()
    fast = configurations.for_file("src/fast/deep/er/a.py")
    assert fast.file == str(root / "src/fast/tilelint.toml")
    assert (fast.settings.targets, fast.settings.jobs) == (("trn3",), None)
    assert origins(fast, "targets") == ["src/fast/tilelint.toml:1"]
    slow = configurations.for_file("src/slow/a.py")  # a table of others is not ours
    assert slow.file == str(root / "pyproject.toml")
    assert (slow.settings.targets, slow.settings.jobs) == (("trn1",), 3)
    assert origins(slow, "jobs") == ["pyproject.toml:5"]


def test_an_empty_file_ends_the_search(root: Path) -> None:
    tree(root, tilelint="strict = true\n", src__tilelint="")
    assert not Configurations().for_file("src/a.py").settings.strict
    tree(root, src__tilelint="", src__deep__pyproject="[tool.tilelint]\n")
    assert Configurations().for_file("src/deep/a.py").file == str(root / "src/deep/pyproject.toml")


def test_nothing_outside_of_the_repository_is_read(root: Path) -> None:
    tree(root, tilelint="strict = true\n")
    (root / "vendor" / ".git").mkdir(parents=True)
    (root / "worktree").mkdir()
    (root / "worktree" / ".git").write_text("gitdir: elsewhere\n")
    configurations = Configurations()
    assert configurations.for_file("a.py").settings.strict
    assert configurations.for_file("vendor/deep/a.py").file is None
    assert configurations.for_file("worktree/a.py").file is None


def test_in_one_folder_tilelint_toml_wins_and_says_so(root: Path) -> None:
    tree(root, tilelint="jobs = 2\n", pyproject="\n[tool.tilelint]\njobs = 3\n")
    configurations = Configurations()
    assert configurations.for_file("a.py").settings.jobs == 2
    assert [str(problem) for problem in configurations.shadowed()] == [
        "pyproject.toml:2: [tool.tilelint] is not used: tilelint.toml in the same folder wins"
    ]


def test_a_broken_file_that_is_not_used_breaks_nothing(root: Path) -> None:
    tree(root, tilelint="jobs = 2\n", pyproject="[tool.tilelint]\njobs = 0\n")
    assert Configurations().for_file("a.py").settings.jobs == 2
    tree(root, tilelint="jobs = 2\n", pyproject='name = "not our matter\n')
    assert Configurations().for_file("a.py").settings.jobs == 2


def test_config_and_isolated(root: Path) -> None:
    tree(
        root,
        tilelint="jobs = 2\n",
        ci__strict='strict = true\n[[overrides]]\npaths = ["src/"]\ntimeout = 5\n',
        ci__empty__pyproject="",
    )
    found = Configurations(Overrides(config="ci/strict.toml")).for_file("src/a.py")
    assert (found.settings.strict, found.settings.jobs) == (True, None)
    assert found.settings.timeout == 5  # patterns start from the current directory
    assert Configurations(Overrides(isolated=True)).for_file("a.py").settings.jobs is None
    assert mistakes("a.py", Overrides(config="ci/nowhere.toml")) == [
        "ci/nowhere.toml: cannot be read: No such file or directory"
    ]
    assert mistakes("a.py", Overrides(config="ci/empty/pyproject.toml")) == [
        "ci/empty/pyproject.toml: has no [tool.tilelint]"
    ]


def test_changes_are_noticed(root: Path) -> None:
    configurations = Configurations()

    def jobs() -> int | None:
        configurations.refresh()
        return configurations.for_file("src/a.py").settings.jobs

    assert jobs() is None
    tree(root, tilelint="jobs = 2\n")
    assert jobs() == 2
    tree(root, tilelint="jobs = 12\n")
    assert jobs() == 12
    tree(root, src__pyproject="[tool.tilelint]\njobs = 5\n")
    assert jobs() == 5
    tree(root, src__pyproject="[tool.tilelint]\njobs = 'x'\n")
    with pytest.raises(ConfigurationError):
        jobs()
    (root / "src" / "pyproject.toml").unlink()
    (root / "tilelint.toml").unlink()
    assert jobs() is None


def test_settings_of_a_run_are_those_of_the_common_folder(root: Path) -> None:
    tree(root, tilelint="jobs = 2\n", src__tilelint="jobs = 3\n", src__a__tilelint="")
    configurations = Configurations()
    assert configurations.for_run(["."]).settings.jobs == 2
    assert configurations.for_run(["src"]).settings.jobs == 3
    assert configurations.for_run(["src/a", "src/b.py"]).settings.jobs == 3
    assert configurations.for_run(["src", "other"]).settings.jobs == 2


# --------------------------------------------------------------------------- precedence


def test_the_order_of_precedence(root: Path) -> None:
    tree(
        root,
        tilelint="""\
targets = ["trn1"]
api-version = "0.4"
timeout = 30
[[overrides]]
paths = ["kernels/"]
timeout = 20
targets = ["trn3", "trn2"]
[[overrides]]
paths = ["kernels/new/*.py", "!kernels/new/old.py"]
timeout = 10
""",
    )

    def timeout(path: str, given: float | None = None) -> tuple[float, str]:
        found = Configurations(Overrides(timeout=given)).for_file(path)
        assert found.settings.api_version == "0.4"
        return found.settings.timeout, origins(found, "timeout")[-1]

    assert timeout("a.py") == (30, "tilelint.toml:3")
    assert timeout("kernels/a.py") == (20, "tilelint.toml:6")
    assert timeout("kernels/new/a.py") == (10, "tilelint.toml:10")
    assert timeout("kernels/new/old.py") == (20, "tilelint.toml:6")
    assert timeout("kernels/new/a.py", 3.5) == (3.5, "command line (--timeout)")
    found = Configurations(Overrides(targets=("TRN1,trn2", "trn1"))).for_file("kernels/a.py")
    assert found.settings.targets == ("trn1", "trn2")
    assert Configurations().for_file("kernels/new/a.py").settings.targets == ("trn3", "trn2")


def test_select_and_ignore(root: Path) -> None:
    tree(
        root,
        tilelint="""\
select = ["matmul", "views"]
ignore = ["MMU104"]
[[overrides]]
paths = ["relaxed/"]
ignore = ["views"]
[[overrides]]
paths = ["relaxed/strict/"]
select = ["matmul"]
""".replace("MMU104", next(r.code for r in all_rules() if r.family == "matmul")),
    )
    one = next(r.id for r in all_rules() if r.family == "matmul")

    def checked(path: str, **said: tuple[str, ...]) -> set[str]:
        settings = Configurations(Overrides(**said)).for_file(path).settings  # type: ignore[arg-type]
        chosen = set(settings.select) or {rule.id for rule in all_rules()}
        return chosen - set(settings.ignore)

    both = of_family("matmul") | of_family("views")
    assert checked("a.py") == both - {one}
    assert checked("relaxed/a.py") == of_family("matmul") - {one}
    # a selection starts afresh: what was ignored below it counts no more
    assert checked("relaxed/strict/a.py") == of_family("matmul")
    assert checked("a.py", select=("matmul",)) == of_family("matmul")
    assert checked("a.py", ignore=("matmul",)) == of_family("views")
    assert checked("a.py", select=("matmul",), ignore=(one,)) == of_family("matmul") - {one}


def test_severities_are_joined_and_the_narrower_key_wins(root: Path) -> None:
    tree(
        root,
        tilelint="""\
[severity]
matmul-moving-size = "error"
matmul = "warning"
all = "note"
[[overrides]]
paths = ["a/"]
severity = { views = "error", matmul = "error" }
""",
    )
    severity = Configurations().for_file("b.py").settings.severity
    assert severity["matmul-moving-size"] == "error"
    assert {severity[rule] for rule in of_family("matmul")} == {"error", "warning"}
    assert {severity[rule] for rule in of_family("views")} == {"note"}
    found = Configurations().for_file("a/b.py")
    assert {found.settings.severity[rule] for rule in of_family("matmul")} == {"error"}
    assert {found.settings.severity[rule] for rule in of_family("views")} == {"error"}
    assert origins(found, "severity") == [f"tilelint.toml:{n}" for n in (2, 4, 7, 7)]


def test_contracts(root: Path) -> None:
    tree(
        root,
        tilelint="""\
[contracts]
gemm = "(a: bf16[K, M])"
pool = ["pool(x: fp32[64, N])", "[2](x: fp32[128, N])  # launched twice"]
"new/*.py::gemm" = "gemm(a: bf16[128, M])"
[presets.decode]
gemm = "(a: bf16[4096, 1])"
"new/::pool" = "(x: fp32[1, 1])"
[[overrides]]
paths = ["free/"]
contracts = { pool = [] }
presets.decode.gemm = "(a: bf16[8192, 1])"
""",
    )

    def texts(path: str, *given: str) -> tuple[list[str], list[tuple[str, str]]]:
        policy = Policy(Configurations(Overrides(contracts=given)))
        policy.settled(path)
        request = policy.request(path, ())
        return list(request.contracts), list(request.presets)

    pools = ["pool(x: fp32[64, N])", "pool[2](x: fp32[128, N])  # launched twice"]
    decode = ("decode", "gemm(a: bf16[4096, 1])")
    assert texts("a.py") == (["gemm(a: bf16[K, M])", *pools], [decode])
    assert texts("new/a.py") == (
        ["gemm(a: bf16[K, M])", *pools, "gemm(a: bf16[128, M])"],
        [decode, ("decode", "pool(x: fp32[1, 1])")],
    )
    assert texts("free/a.py") == (
        ["gemm(a: bf16[K, M])"],
        [("decode", "gemm(a: bf16[8192, 1])")],
    )
    # who asks for a contract of a kernel wants no other for it
    assert texts("new/a.py", "gemm(a: fp32)") == (
        [*pools, "gemm(a: fp32)"],
        [("decode", "pool(x: fp32[1, 1])")],
    )
    found = Configurations(Overrides(contracts=("gemm(a: fp32)",))).for_file("new/a.py")
    assert [entry.key for entry in said_of(found)["presets"].entries] == ["decode.new/::pool"]
    found = Configurations().for_file("new/a.py")
    assert [c.origin.line for c in found.settings.contracts] == [2, 3, 3, 4]
    assert [c.origin.line for c in found.settings.presets] == [6, 7]


def test_exclude(root: Path) -> None:
    tree(
        root,
        tilelint='exclude = [\n  "vendor/",\n  "*_gen.py",\n  "!kept_gen.py",\n]\n',
        vendor__own__tilelint="",
    )
    configurations = Configurations()

    def line(path: str) -> int | None:
        origin = configurations.for_file(path).excluded
        return None if origin is None else origin.line

    assert line("a.py") is None
    assert line("vendor/a.py") == 2
    assert line("src/x_gen.py") == 3
    assert line("src/kept_gen.py") is None
    assert line("vendor/own/a.py") is None  # its own configuration says nothing


def test_paths_of_the_configuration_start_from_its_folder(root: Path) -> None:
    tree(root, src__tilelint='cache-dir = ".cache/tl"\n')
    found = Configurations().for_file("src/deep/a.py").settings
    assert found.cache_dir == str(root / "src" / ".cache" / "tl")
    given = Configurations(Overrides(cache_dir="x")).for_file("src/deep/a.py").settings
    assert given.cache_dir == str(root / "x")


# ----------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('target = ["trn2"]', "1: unknown key 'target'; did you mean 'targets'?"),
        ("api_version = '0.6'", "1: unknown key 'api_version'; did you mean 'api-version'?"),
        ("quux = 1", "1: unknown key 'quux'"),
        (
            "[tool.tilelint]",
            "1: unknown key 'tool'; in tilelint.toml, keys stand at the top, without "
            "[tool.tilelint]",
        ),
        ("\ntargets = 'trn2'", "2: 'targets' must be a list of strings, not a string; write "
         '["trn2"]'),
        ("targets = [\n'trn2',\n3]", "3: 'targets' must be a list of strings, not an integer in "
         "it"),
        ("targets = [\n'trn2',\n'trn22']", "3: unknown target 'trn22'; did you mean 'trn2'?"),
        ("api-version = 0.6", "1: 'api-version' must be a string, not a float; write \"0.6\""),
        ("api-version = '0.7'", "1: unknown API version '0.7'; did you mean '0.6'?"),
        ("select = ['matmull']", "1: unknown rule 'matmull' in 'select'; did you mean 'matmul'?"),
        ("jobs = true", "1: 'jobs' must be an integer, not a boolean"),
        ("jobs = -1", "1: 'jobs' must be at least 1, not -1"),
        ("timeout = 0", "1: 'timeout' must be a number above 0, not 0"),
        ("timeout = inf", "1: 'timeout' must be a number above 0, not inf"),
        ("timeout = 1979-05-27", "1: 'timeout' must be a number of seconds, not a date or a time"),
        ("strict = 'yes'", "1: 'strict' must be true or false, not a string"),
        ("cache-dir = ''", "1: 'cache-dir' must be a path, not ''"),
        ("exclude = ['# x']", "1: '# x' is not a pattern of files as in .gitignore"),
        ("exclude = ['!']", "1: '!' is not a pattern of files as in .gitignore"),
        ("severity = 3", "1: 'severity' must be a table of rules and severities, not an integer"),
        (
            "[severity]\nviews = 'off'",
            "2: the severity of 'views' must be \"error\", \"warning\" or \"note\"; to leave a "
            'rule out, write ignore = ["views"]',
        ),
        (
            "[severity]\nviews = 'warn'",
            "2: the severity of 'views' must be \"error\", \"warning\" or \"note\"; did you mean "
            "'warning'?",
        ),
        ("nothing = 1", "1: unknown key 'nothing'"),  # no far-fetched suggestion
        ("severity.vews = 'note'", "1: unknown rule 'vews' in 'severity'; did you mean 'views'?"),
        (
            "[contracts]\ngemm = '(a: bf16[K, M]) wher'",
            "2: bad contract '(a: bf16[K, M]) wher': column 17: expected 'where' or 'on' or "
            "the end, found 'wher'",
        ),
        (
            "[contracts]\ngemm = [\n'(a: bf17[K])']",
            "3: bad contract '(a: bf17[K])': column 5: 'bf17' is not a dtype; did you mean 'bf16'?",
        ),
        (
            "contracts.gemm = \"\"\"\n  (a: bf16[K],\n  b: bf17[K])\"\"\"",
            "1: bad contract '(a: bf16[K],   b: bf17[K])': column 21: 'bf17' is not a dtype; did "
            "you mean 'bf16'?",
        ),
        (
            "contracts.gemm = 'gem(a: bf16)'",
            "1: this contract is for 'gem', but stands at 'gemm'",
        ),
        ("contracts.gemm = 3", "1: the contract of 'gemm' must be a string or a list, not an "
         "integer"),
        ("contracts.'a b' = ''", "1: 'a b' is not the name of a kernel, or path::kernel"),
        ("contracts.'#::gemm' = '()'", "1: '#' is not a pattern of files as in .gitignore"),
        ("presets.decode = 'x'", "1: preset 'decode' must be a table of kernels and contracts, "
         "not a string"),
        ("[presets.decode]\ngemm = '('", "2: bad contract '(': column 2: expected ')' or a name, "
         "found the end"),
        ("presets.'' = {}", "1: '' is not a name for a preset"),
        ("[overrides]\nx = 1", "1: 'overrides' must be a list of tables ([[overrides]]), not a "
         "table"),
        ("[[overrides]]\njobs = 1\npaths = ['x']", "2: 'jobs' holds for a whole run and cannot be "
         "overridden for some paths"),
        ("[[overrides]]\ntimeout = 1", "1: an override needs 'paths', a list of patterns of files"),
        ("[[overrides]]\npath = ['x']\npaths = ['x']", "2: unknown key 'path'; did you mean "
         "'paths'?"),
        ("a = [", "1: is not TOML: invalid value"),
    ],
)  # fmt: skip
def test_mistakes_have_a_line_and_a_suggestion(root: Path, text: str, expected: str) -> None:
    tree(root, tilelint=text)
    assert mistakes("a.py") == [f"tilelint.toml:{expected}"]


def test_every_mistake_is_told(root: Path) -> None:
    tree(root, pyproject="[tool.tilelint]\njobs = 0\nfoo = 1\nselect = ['nope', 'views', 'nah']\n")
    assert [line.partition(": ")[0] for line in mistakes("a.py")] == [
        f"pyproject.toml:{n}" for n in (2, 3, 4, 4)
    ]


def test_what_cannot_be_read(root: Path) -> None:
    (root / "pyproject.toml").write_bytes(b"[tool.tilelint]\njobs = 1 # \xff\n")
    assert mistakes("a.py") == ["pyproject.toml:2: is not UTF-8"]
    (root / "pyproject.toml").write_text("[tool]\ntilelint = 3\n")
    assert mistakes("a.py") == ["pyproject.toml:2: [tool.tilelint] must be a table, not an integer"]
    (root / "tilelint.toml").mkdir()
    assert mistakes("a.py") == ["tilelint.toml: cannot be read: Is a directory"]


def test_a_byte_order_mark_is_no_mistake(root: Path) -> None:
    (root / "tilelint.toml").write_bytes(b"\xef\xbb\xbfjobs = 4\r\ntimeout = 2\r\n")
    assert Configurations().for_file("a.py").settings.jobs == 4


def test_mistakes_on_the_command_line_name_the_option() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Configurations(
            Overrides(
                targets=("trn2,trn22",),
                select=("zebra,views",),
                ignore=("matmull",),
                api_version="0.7",
                contracts=("gemm(a: bf17[K])",),
            )
        )
    assert str(caught.value).splitlines() == [
        "unknown target 'trn22'; did you mean 'trn2'?",
        "unknown rule 'zebra' in --select",
        "unknown rule 'matmull' in --ignore; did you mean 'matmul'?",
        "unknown API version '0.7'; did you mean '0.6'?",
        "bad contract 'gemm(a: bf17[K])': column 9: 'bf17' is not a dtype; did you mean 'bf16'?",
    ]
