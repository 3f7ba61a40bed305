"""One table of settings: what is read, documented and given as an option all agree."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.cli.check import command
from verifier.configuration import documentation
from verifier.configuration.model import DEFAULT, Overrides, Settings
from verifier.configuration.settings import Configurations
from verifier.configuration.table import SETTINGS, Setting, said_of

from .support import tree


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_each_example_can_be_used(root: Path, setting: Setting[object]) -> None:
    tree(root, tilelint=f"{setting.key} = {setting.example}\n")
    found = Configurations().for_file("kernels/gemm.py")
    given = said_of(found)[setting.key]
    assert all(str(entry.origin) == "tilelint.toml:1" for entry in given.entries)
    assert given.value != setting.default


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_overrides_take_what_may_differ_by_path(root: Path, setting: Setting[object]) -> None:
    text = f'[[overrides]]\npaths = ["kernels/"]\n{setting.key} = {setting.example}\n'
    tree(root, tilelint=text)
    configurations = Configurations()
    if not setting.per_path:
        with pytest.raises(Exception, match="holds for a whole run"):
            configurations.for_file("kernels/gemm.py")
        return
    inside, outside = (configurations.for_file(f"{folder}/gemm.py") for folder in ("kernels", "x"))
    assert said_of(inside)[setting.key].value != setting.default
    assert said_of(outside)[setting.key].value == setting.default
    assert all(entry.origin is DEFAULT for entry in said_of(outside)[setting.key].entries)


def test_each_option_is_one_of_check() -> None:
    options = {name for parameter in command.params for name in parameter.opts}
    assert {setting.option for setting in SETTINGS if setting.option} <= options
    named = {parameter.name for parameter in command.params}
    assert set(Overrides.__struct_fields__) <= named


def test_defaults_are_told_once() -> None:
    defaults = Settings()
    for setting in SETTINGS:
        if setting.key != "exclude":
            assert getattr(defaults, setting.key.replace("-", "_")) == setting.default


def test_markdown() -> None:
    header, rule, *rows = documentation.markdown().splitlines()
    assert header.count("|") == rule.count("|") == 7
    assert [row.split("`")[1] for row in rows] == [*(s.key for s in SETTINGS), "overrides"]
    assert all(row.replace("\\|", "").count("|") == 7 for row in rows)
