"""The dialects with all that interprets them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from verifier.dialects import NKI_API, OKK_API, PPL_API
from verifier.dialects.descriptor import DialectDescriptor
from verifier.dialects.names import NKI, OKK, PPL
from verifier.dialects.nki import (
    NkiDialect,
    generations_of,
    import_problem,
    jit_problem,
)
from verifier.dialects.nki import isa as nki_isa
from verifier.dialects.nki import launches as nki_launches
from verifier.dialects.nki import names as nki_names
from verifier.dialects.nki import spoken as nki_spoken
from verifier.dialects.nki.outside import device_calls, doubtful
from verifier.dialects.nki.versions import DESCRIBED
from verifier.dialects.okk import OkkDialect
from verifier.dialects.okk import isa as okk_isa
from verifier.dialects.okk import names as okk_names
from verifier.dialects.okk import spoken as okk_spoken
from verifier.dialects.okk import versions as okk_versions
from verifier.dialects.ppl import PplDialect, launches, rewriting
from verifier.dialects.ppl import isa as ppl_isa
from verifier.dialects.ppl import spoken as ppl_spoken
from verifier.dialects.ppl import versions as ppl_versions
from verifier.hardware import targets
from verifier.hardware.capabilities import Capability
from verifier.hardware.catalogue import Hardware
from verifier.hardware.chips import Chip
from verifier.hardware.targets import Target
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.values import ApiRef

#: one catalogue has the facts of OKK, of PPL and of the chips
_TPU_FACTS: Final = frozenset({"ADR-", "BUG-", "CHIP-", "LAY-", "OKK-", "PPL-", "TPU-"})


def _has(hardware: Hardware, capability: Capability) -> bool:
    return isinstance(hardware, Chip) and hardware.has(capability)


#: the dialects, by the names that discovery gives them
DIALECTS: Final[Mapping[str, DialectDescriptor]] = {
    descriptor.name: descriptor
    for descriptor in (
        DialectDescriptor(
            name=NKI,
            label="NKI",
            make=NkiDialect,
            floats="float32",
            runs=lambda hardware: isinstance(hardware, Target),
            target=targets.DEFAULT,
            api=NKI_API,
            exported=nki_names.exported,
            facts=frozenset({"NKI-"}),
            generations=DESCRIBED,
            instructions=nki_isa.INSTRUCTIONS,
            functions=nki_spoken.functions,
            infer=generations_of,
            import_problem=import_problem,
            decorator_problem=jit_problem,
            device_calls=device_calls,
            doubtful=doubtful,
            launches=nki_launches.problems,
            target_keyword="platform_target",
            programs=frozenset({"logical_nc_config", "lnc"}),  # NKI-L61
            language=("nki.language", "neuronxcc.nki.language"),
            has_value=nki_names.value_in,
        ),
        DialectDescriptor(
            name=OKK,
            label="OKK",
            make=OkkDialect,
            floats="float16",
            numbers_only=True,
            runs=lambda hardware: _has(hardware, Capability.KERNEL_LIBRARY),
            target="bm1684",
            api=OKK_API,
            exported=okk_names.exported,
            facts=_TPU_FACTS,
            generations={OKK: okk_versions.GENERATION},
            instructions=okk_isa.INSTRUCTIONS,
            functions=okk_spoken.functions,
            infer=lambda tree: lambda kernel: OKK,
            by_address=True,
        ),
        DialectDescriptor(
            name=PPL,
            label="PPL",
            make=PplDialect,
            floats="float16",
            numbers_only=True,
            runs=lambda hardware: _has(hardware, Capability.COMPILED_KERNELS),
            target="bm1684x",
            meant_for=launches.targets,
            launches=launches.problems,
            api=PPL_API,
            facts=_TPU_FACTS,
            generations={PPL: ppl_versions.GENERATION},
            instructions={**ppl_isa.INSTRUCTIONS, **ppl_isa.CONTROL},
            functions=ppl_spoken.functions,
            infer=lambda tree: lambda kernel: PPL,
            asserts_kept=False,  # its compiler drops them (PPL-C02)
            debug_keyword="debug",
            rewrites=rewriting.rewrite,
        ),
    )
}


def of_generation(generation: str) -> DialectDescriptor:
    """The dialect that a generation is of."""
    return next(d for d in DIALECTS.values() if generation in d.generations)


def of_name(ref: ApiRef) -> DialectDescriptor:
    """The dialect that a name is of; one that says no generation is of the first one."""
    first, *_ = DIALECTS.values()
    return next((d for d in DIALECTS.values() if ref.generation in d.generations), first)


def cited(facts: Iterable[str], dialect: str) -> tuple[str, ...]:
    """The facts as a report on a kernel of ``dialect`` cites them: those that speak of it, in
    short where all of its facts begin alike."""
    own = DIALECTS[dialect].facts
    others = tuple({prefix for d in DIALECTS.values() for prefix in d.facts} - own)
    kept = (fact for fact in facts if not fact.startswith(others))
    short = next(iter(own)) if len(own) == 1 else ""
    return tuple(fact.removeprefix(short) for fact in kept)


def of_packages(imported: set[str]) -> DialectDescriptor:
    """The dialect of a file that imports from these packages: of several the first one."""
    first, *_ = DIALECTS.values()
    return next((d for d in DIALECTS.values() if d.packages & imported), first)


def instructions(names: Collection[str]) -> tuple[Instruction, ...]:
    """Every function that is described, of the dialects of these names."""
    return tuple(i for name in names for i in DIALECTS[name].instructions.values())
