"""The names of the dialects: in requests, reports and the tables of rules."""

from __future__ import annotations

from typing import Final

NKI: Final = "nki"
OKK: Final = "okk"
PPL: Final = "ppl"
