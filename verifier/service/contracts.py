"""The contracts of a configuration or a command line that are for no kernel."""

# Links are not followed.
# ruff: noqa: PTH100, PTH112, PTH118

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from verifier.configuration.model import shown
from verifier.configuration.settings import Configurations
from verifier.report.model import KernelReport, RunReport, Unmatched


def unknown_contracts(
    configurations: Configurations, paths: Sequence[str], report: RunReport
) -> list[Unmatched]:
    """The contracts whose kernels are in none of the files that they are meant for.

    A contract of a configuration file is only judged if everything below the file's folder was
    checked and could be read.
    """
    contracts = configurations.contracts()
    if not contracts:
        return []
    whole = not any(error.kind != "usage" for error in report.errors)
    folders = [os.path.join(os.path.abspath(path), "") for path in paths if os.path.isdir(path)]
    unmatched = []
    for contract in contracts:
        origin = contract.origin
        where = "the files checked"
        if origin.source == "file":
            base = configurations.folder_of(contract)
            if base is None or not whole or not os.path.join(base, "").startswith(tuple(folders)):
                continue
            where = f"the files that match '{contract.files}'"
            if not contract.files:
                where = "the files that it is for"
        known = _known(k for k in report.kernels if configurations.concerns(contract, k.path))
        if contract.kernel not in known:
            message = f"contract for '{contract.kernel}': no such kernel in {where}"
            # several contracts of one key are one mistake, where the key stands
            line = configurations.line_of(contract)
            names = tuple(sorted(known))
            unmatched.append(Unmatched(shown(origin.path), line, contract.kernel, message, names))
    return list(dict.fromkeys(unmatched))


def _known(kernels: Iterable[KernelReport]) -> set[str]:
    """The names by which a contract may call the kernels."""
    names = {kernel.name for kernel in kernels}
    return names | {name.rpartition(".")[2] for name in names}
