"""Which row of the catalogues is enforced by which rule, or why by none.

One catalogue numbers the facts of the NKI documentation, one those of Sophgo's TPUs; rules name the
rows that they enforce, and this module adds those that no rule names: rows that another row
repeats, and a reason for the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from rules.decidability import DECIDED
from rules.tpu import catalogue as tpu
from verifier.rulebase import all_rules


class Row(NamedTuple):
    """One catalogue row: its id, what it is about, the rules that enforce it or why none does."""

    fact: str
    text: str
    rule: str | None
    why: str


#: family -> (what its rows are about, the numbers in it)
_FAMILIES: Final[dict[str, tuple[str, str]]] = {
    "H": ("hardware of the targets", "01-46 50-66 70-90 100-108"),
    "P": ("partition axis", "01-17"),
    "B": ("buffers and capacity", "01-27"),
    "A": ("access patterns", "01-10"),
    "D": ("DMA in general", "01-16"),
    "T": ("data types", "00a 00b 00c 00d 00e 00f 00g 00h 00i 00j 01-17"),
    "N": ("all instructions", "01-16 20-40"),
    "TI": ("tensor indirection", "01-13"),
    "AC": ("accumulator registers", "01-09"),
    "MMU": ("nc_matmul", "01-31"),
    "MMX": ("nc_matmul_mx", "01-15"),
    "TRN": ("nc_transpose", "01-10"),
    "ACT": ("activation", "01-16"),
    "ACR": ("activation_reduce", "01-06"),
    "ATW": ("activate2", "01-09"),
    "TTN": ("tensor_tensor", "01-09"),
    "TSC": ("tensor_scalar", "01-12"),
    "STT": ("scalar_tensor_tensor", "01-05"),
    "RED": ("tensor_reduce", "01-08"),
    "SCN": ("tensor_tensor_scan", "01-05"),
    "TSR": ("tensor_scalar_reduce", "01-10"),
    "TCU": ("tensor_scalar_cumulative", "01-06"),
    "CPY": ("tensor_copy", "01-06"),
    "CPP": ("tensor_copy_predicated", "01-05"),
    "EXP": ("exponential", "01-08"),
    "RCP": ("reciprocal", "01-02"),
    "QMX": ("quantize_mx", "01-08"),
    "DRP": ("dropout", "01-04"),
    "RSL": ("range_select", "01-09"),
    "SLR": ("select_reduce", "01-08"),
    "BNS": ("bn_stats", "01-03"),
    "BNA": ("bn_aggr", "01-03"),
    "TOP": ("max8 and companions", "01-09"),
    "SHF": ("nc_stream_shuffle", "01-07"),
    "MST": ("memset", "01-05"),
    "IOT": ("iota", "01-05"),
    "AFS": ("affine_select", "01-07"),
    "LGA": ("local_gather", "01-08"),
    "NGA": ("nc_n_gather", "01-05"),
    "SQB": ("sequence_bounds", "01-04"),
    "PRD": ("tensor_partition_reduce", "01-03"),
    "NZC": ("nonzero_with_count", "01-05"),
    "TPK": ("topk", "01-05"),
    "RNG": ("rng", "01-03"),
    "RND": ("rand2", "01-02"),
    "RSS": ("rand_set_state", "01-02"),
    "RGT": ("rand_get_state", "01"),
    "SED": ("set_rng_seed", "01-02"),
    "DCP": ("dma_copy", "01-10"),
    "DTR": ("dma_transpose", "01-13"),
    "DCM": ("dma_compute", "01-10"),
    "REG": ("registers", "01-08"),
    "BAR": ("core_barrier", "01-03"),
    "SRV": ("sendrecv", "01-04"),
    "OLD": ("instructions of older versions", "01-06"),
    "BUF": ("operand memories", "01-39"),
    "K": ("collectives", "01-15"),
    "L": ("nki.language", "01-13 20-35 40-56 60-75 76 77"),
    "X": ("indexing and views", "01-12 20-33 40-50 60-73"),
    "LP": ("loops", "01-15"),
    "G": ("Python subset", "01-13 30-50"),
    "E": ("errors of Beta 1", "01-36"),
    "M": ("differences between versions", "001-044 050-083 090-104 110-123 130-140"),
    "OQ": ("open questions", "01-43"),
    "DX": ("slips of the documentation", "01-15"),
}

#: rows that say the same as another, and are enforced with it
_SAME_AS: Final[dict[str, str]] = {
    "H12": "MMU03",
    "H13": "MMU03",
    "H14": "MMU04",
    "H15": "MMU09",
    "H16": "MMU07",
    "H28": "ACT05",
    "H33": "DTR04",
    "H45": "TRN03",
    "H02": "P01",
    "H04": "B01",
    "H06": "B05",
    "H08": "B06",
    "H11": "MMU14",
    "H20": "N07",
    "H21": "D02",
    "H18": "MMU01",
    "H50": "A01",
    "H51": "A03",
    "H52": "P07",
    "H54": "P04",
    "H61": "P10",
    "H105": "BNS01",
    "L12": "P01",
    "RED06": "BUF11",
    "ACT01": "BUF05",
    "CPY02": "BUF14",
    "IOT01": "BUF26",
    "N20": "H82",
    "N25": "H85",
    "N26": "RSL01",
    "N32": "NZC01",
    "N38": "BAR01",
    "N39": "SRV01",
    "L01": "P01",
    "E04": "ACT04",
    "E13": "L29",
    "E23": "P01",
    "E24": "P09",
    "E26": "TRN02",
    "E27": "X69",
    "E28": "X06",
    "E34": "N09",
    "M050": "B27",
    "M051": "D04",
    "M054": "MST02",
    "M055": "RED01",
    "M060": "B18",
    "M070": "RSL06",
    "M090": "DTR02",
    "M096": "TOP01",
    "M110": "L45",
    "M111": "X25",
    "M117": "MMX08",
    "M118": "MMU05",
    "M132": "DTR05",
    "M136": "MMU26",
    "M135": "N10",
    "X08": "P07",
    "X70": "P07",
    "OQ09": "MMU15",
    "OQ10": "MMX08",
    "OQ15": "P07",
    "OQ22": "P04",
    "OQ25": "ACT10",
    "OQ28": "L27",
    "OQ31": "A01",
    "OQ32": "P04",
    "LP10": "B20",
    "SCN05": "LP02",
}

_REASONS: Final[dict[str, str]] = {
    "information": "informational: nothing that a kernel could get wrong",
    "number": "hardware number: it is in the target tables, which the rules read",
    "value": "runtime value: decided by the data, not by the program text",
    "performance": "performance or precision hint: what it costs is not in the text of a kernel",
    "flow": "not decidable statically within one kernel",
    "documentation": "about the documentation, not about kernels",
    "question": "open question: the sources do not settle it, and no rule takes a side",
    "accepted": "accepted as documented: the interpreter follows it",
    "signatures": "held by the signature tables of the API generations, which calls are bound to",
    "release": "depends on the release of the SDK or of the instance, which no kernel states",
    "meaning": "a use that is legal and may be meant: nothing in the text says what was",
    "simulator": "about what the vendor's simulator does or does not do, not about kernels",
    "later": "not enforced yet",
}

#: reason -> rows, as ``family: numbers``
_WHY: Final[dict[str, dict[str, str]]] = {
    "number": {"H": "01 03 05 07 09 10 17 19 24-26 35-44 46 100-108"},
    "performance": {
        "H": "22 23 27 29 31 32 34 56 57 58 62 63",
        "P": "16",
        "A": "09",
        "D": "13 14",
        "T": "03 04 12 17",
        "MMU": "29",
        "ACR": "06",
        "TTN": "06",
        "CPY": "05",
        "RCP": "02",
        "RSL": "08",
        "AFS": "05",
        "NGA": "05",
        "DTR": "12 13",
        "DCP": "03",
        "L": "49 52",
        "LP": "14 15",
        "IOT": "05",
        "TRN": "10",
    },
    "value": {
        "T": "10 13",
        "D": "11 15",
        "TRN": "08",
        "ACT": "14",
        "QMX": "08",
        "TOP": "05 08",
        "LGA": "07",
        "NGA": "04",
        "SQB": "03",
        "MMX": "15",
        "X": "49",
        "L": "48",
    },
    "information": {
        "H": "55 59 60 64-66 72 90",
        "B": "10 16 23 25",
        "A": "10",
        "D": "16",
        "T": "00a 00b 00c 00d 00e 00f 00g 00h 00i 00j 07",
        "N": "04 14 16 22-24 27 30 31 35-37 40",
        "TI": "03",
        "AC": "01 02 07",
        "MMU": "31",
        "MMX": "12",
        "ACR": "05",
        "RED": "07",
        "TSR": "09",
        "TCU": "06",
        "SHF": "04 05",
        "LGA": "08",
        "TPK": "04 05",
        "RNG": "03",
        "DCP": "08",
        "DTR": "10",
        "DCM": "07 08",
        "REG": "08",
        "OLD": "05 06",
        "L": "05 06 13 53 68 69 75",
        "X": "02-05 10 32 33 40 45 50 71 72",
        "LP": "01 03 04",
        "G": "01-13",
        "M": "018 026 034 044 073 078-081 100 102-104 114-116 119 121-123 133 134 138-140",
    },
    "flow": {
        "N": "15",
        "L": "63",
        "SED": "02",
        "K": "14",
    },
    "signatures": {
        "M": "035 038 043 063 069 077 092 112 113 118",
    },
    "release": {"L": "76"},
    "simulator": {"ACT": "15", "L": "72"},
    "meaning": {"BNA": "03"},
    "documentation": {"DX": "01-15"},
    "question": {"G": "43 45", "MMU": "24", "OQ": "01-43"},
    "accepted": {
        "MMU": "17",
        "X": "44",
        "L": "08",
        "DTR": "11",
        "LP": "12",
    },
}


#: rows that are enforced for a part of what they say
PARTLY: Final[dict[str, str]] = {
    "NKI-G31": "not of `is None` and `is not None`, which released kernels of every version use",
    "NKI-G35": "in NKI 0.2 only: released kernels of 0.3 and later call kernels",
    **dict.fromkeys(
        ("NKI-T01", "NKI-M020"),
        "not of NumPy dtypes, which tests of the SDK pass in every version",
    ),
    "NKI-L25": "not of what large integers lose in 0.3 to 0.5, which hangs on their values",
    **dict.fromkeys(
        ("NKI-LP13", "NKI-E19"),
        "not of an `if` that the trace settles: released kernels use its tiles",
    ),
}


def _numbers(text: str) -> Iterator[str]:
    for word in text.split():
        first, dash, last = word.partition("-")
        if not dash:
            yield word
            continue
        for number in range(int(first), int(last) + 1):
            yield f"{number:0{len(first)}d}"


def facts() -> Iterator[tuple[str, str]]:
    """Every row of the NKI catalogue in short (``MMU04``) with the subject of its family."""
    for family, (subject, numbers) in _FAMILIES.items():
        for number in _numbers(numbers):
            yield family + number, subject


def tpu_facts() -> Iterator[tuple[str, str]]:
    """Every row of the TPU catalogue (``OKK-A03``) with the subject of its family."""
    for prefix, families in tpu.FAMILIES.items():
        for letter, subject, numbers in families:
            for number in _numbers(numbers):
                yield f"{prefix}-{letter}{number}", subject


def coverage() -> list[Row]:
    """One row for each fact of the catalogues, in their order; ids as in ``NKI-MMU04``."""
    enforced: dict[str, list[str]] = {}
    for rule in all_rules():
        for fact in rule.facts:
            # NKI rules may name their rows in short
            enforced.setdefault(fact if "-" in fact else f"NKI-{fact}", []).append(rule.id)
    nki = ((f"NKI-{fact}", subject) for fact, subject in facts())
    same = {f"NKI-{fact}": f"NKI-{other}" for fact, other in _SAME_AS.items()}
    reasons = {f"NKI-{fact}": reason for fact, reason in _reasons(_WHY).items()}
    same.update(tpu.SAME_AS)
    reasons.update(_reasons(tpu.WHY))
    words = {**_REASONS, **tpu.REASONS}
    return [
        _row(fact, subject, enforced, same, reasons, words)
        for fact, subject in (*nki, *tpu_facts())
    ]


def decided(rows: list[Row]) -> Iterator[tuple[str, int, int]]:
    """By what rows of NKI that forbid something are decided, how many those are, and enforced."""
    enforced = {row.fact for row in rows if row.rule is not None}
    for means, families in DECIDED.items():
        asked = [f"NKI-{f}{n}" for f, numbers in families.items() for n in _numbers(numbers)]
        yield means, len(asked), sum(fact in enforced for fact in asked)


def _reasons(table: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    return {
        family + number: reason
        for reason, families in table.items()
        for family, numbers in families.items()
        for number in _numbers(numbers)
    }


def _row(
    fact: str,
    subject: str,
    enforced: Mapping[str, list[str]],
    same_as: Mapping[str, str],
    reasons: Mapping[str, str],
    words: Mapping[str, str],
) -> Row:
    same = same_as.get(fact)
    found = enforced.get(fact)
    why = PARTLY.get(fact, "")
    if found is None and same is not None and same in enforced:
        found, why = enforced[same], f"as {same}"
    if found is None:
        why = words[reasons.get(fact, "later")]
    return Row(fact, subject, ", ".join(found) if found else None, why)
