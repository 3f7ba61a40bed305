"""Internal errors: one line for the report, the traceback for whoever asks for it."""

from __future__ import annotations

import os
import sys


def describe(error: BaseException) -> str:
    """An internal error in one line: what it was and where in this project it arose.

    With ``TILELINT_TRACEBACK=1`` in the environment the traceback goes to stderr, too.
    """
    if os.environ.get("TILELINT_TRACEBACK", "") not in ("", "0"):
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    place = ""
    trace = error.__traceback__
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        if module.startswith(("verifier.", "rules.")):
            place = f" at {module}:{trace.tb_lineno}"
        trace = trace.tb_next
    text = " ".join(str(error).split())[:200]
    return f"internal error: {type(error).__name__}{f': {text}' if text else ''}{place}"
