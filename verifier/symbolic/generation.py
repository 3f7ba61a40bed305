"""What a generation of a kernel API has otherwise than others, as far as anybody asks.

Each dialect says it of its own, with sources; who judges or runs a kernel asks for a property, and
for no name of a dialect or of a generation.
"""

from __future__ import annotations

from msgspec import Struct


class Generation(Struct, frozen=True, kw_only=True):
    """A generation of an API: ``earlier`` are the names of those before it.

    What is said here of compilers, memory and program instances; what is about one function stands
    in its description, with the name of the generation that it holds from.
    """

    name: str
    earlier: tuple[str, ...] = ()

    # -- what becomes of what a kernel makes

    #: a kernel returns its results; otherwise it stores them to what it is given
    returns: bool = True
    #: what a kernel returns may lie in plain HBM, which its caller then sees
    hbm_returned: bool = False
    #: a kernel states the shapes of the tensors that it is given, and sees nothing else of them
    states_inputs: bool = False
    #: dimensions before the partitions were blocks for a time, each a tile of its own
    had_blocks: bool = False
    #: an input that a kernel writes is declared to be updated, and returned
    declares_updates: bool = False
    #: a tensor is there within the block that makes it
    scoped: bool = False
    #: where a kernel places tiles by hand, its tensors in HBM are its outputs
    only_outputs_placed: bool = False
    #: a tensor is looked at where it is used: one that is not may have a shape that no tile has
    looks_at_uses: bool = False
    #: the fact that says that what nothing has written is undefined
    undefined: str = ""

    # -- who else is there

    #: program instances are cores of one chip: they share all memory that is not a core's own
    on_cores: bool = False
    #: iterations of some loops may run in any order, or side by side
    reorders: bool = False
    #: plain HBM is private to a program instance, unless it is the caller's
    hbm_private: bool = False

    # -- what a compiler does by itself

    #: `+=` in PSUM is a sum of matmuls, whose first one overwrites
    sums_by_operator: bool = False
    #: loops that fill and drain an array of tiles in PSUM become one, so that they do not live
    #: together
    fuses_loops: bool = False
    #: what an engine cannot take as it lies is split, moved, repeated or converted first
    fits_tiles: bool = False
    #: functions of the language repeat axes of size 1, and move and turn operands as they need
    fits_language: bool = False
    #: transfers are staged: a source is moved to where a DMA reaches it, and converted
    fits_transfers: bool = False

    # -- which element types its instructions have

    #: the matmul takes `float8_e4m3fn`, where the hardware does
    multiplies_ocp: bool = False
    #: scales have a type of their own, and are not bytes alone
    scales_typed: bool = False
    #: a product of packed elements takes as many columns as the hardware does, not a bank of PSUM
    multiplies_wide: bool = False

    def at_least(self, name: str) -> bool:
        """Whether it is that generation or a later one; every one is at least ``""``."""
        return not name or name == self.name or name in self.earlier
