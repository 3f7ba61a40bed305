"""What is said to be left out, against one byte at a time."""

from __future__ import annotations

import itertools
import random

import pytest

from rules.tpu import kit
from rules.tpu.covering import leaves_out
from rules.tpu.flow import Use, uses
from tests.tpu_rules.build import local, operation, trace
from verifier.hardware.chips import CHIPS
from verifier.symbolic import expr as E
from verifier.symbolic.lanes import LocalTensor

CHIP = CHIPS["bm1684"]


def cells(tensor: LocalTensor) -> set[tuple[int, int]]:
    """Lane and first byte of each element (ADR-04)."""
    lane, byte = divmod(tensor.address.const, CHIP.local_bytes)
    ns, cs, hs, ws = (stride.const for stride in tensor.strides)
    return {
        (
            (lane + c) % CHIP.lanes,
            byte + 4 * (n * ns + (lane + c) // CHIP.lanes * cs + h * hs + w * ws),
        )
        for n, c, h, w in itertools.product(*(range(size.const) for size in tensor.shape))
    }


def drawn(rng: random.Random) -> LocalTensor:
    shape = [rng.choice(sizes) for sizes in ((1, 2, 3), (1, 5, 64, 65, 70), (1, 2, 3), (1, 3, 4))]
    strides = (
        rng.choice((8, 32, 64)),
        rng.choice((4, 32)),
        rng.choice((2, 3, 4)),
        rng.choice((1, 1, 1, 2)),
    )
    lane = rng.choice((0, 0, 0, 1, 60))
    start = lane * CHIP.local_bytes + rng.choice((0, 0, 4, 32))
    return local(start, *shape, strides=strides)


@pytest.mark.parametrize("seed", range(300))
def test_what_is_left_out(seed: int) -> None:
    rng = random.Random(seed)
    written = [drawn(rng) for _ in range(rng.randint(1, 4))]
    read = rng.choice([drawn(rng), rng.choice(written)])
    ops = [operation("bdc_32bit_set_C", dst=tensor) for tensor in written]
    ops.append(operation("bdc_neg", dst=local(8192, 1, 1, 1, 1), src=read))
    table = uses(trace(*ops))
    (use,) = (found for found in table.reads if found.tensor is read)
    before: list[Use] = [found for found in table.writes if found.tensor in written]
    there = set().union(*map(cells, written))
    assert leaves_out(CHIP, use, before) is bool(cells(read) - there)


@pytest.mark.parametrize("seed", range(300))
def test_what_holds_another(seed: int) -> None:
    """Each element lies between the first and the last one of the larger tensor in its lane."""
    rng = random.Random(seed)
    outer, inner = drawn(rng), drawn(rng)
    there, wanted = cells(outer), cells(inner)
    if kit.fills_all(CHIP, outer, inner):
        assert wanted <= there
    if kit.holds_all(CHIP, outer, inner):
        for lane, byte in wanted if kit.block(CHIP, outer).slots.const == 1 else ():
            beside = [at for other, at in there if other == lane]
            assert beside and min(beside) <= byte <= max(beside)


@pytest.mark.parametrize("seed", range(200))
def test_images_and_channels_are_held(seed: int) -> None:
    """Whichever image and channel a part begins with, and in whichever lane that lies."""
    rng = random.Random(seed)
    n, c, h, w = rng.randint(1, 3), rng.choice((3, 62, 64, 70, 150)), rng.randint(1, 5), 9
    lane = rng.choice((0, 0, 1, 60))
    outer = local(lane * CHIP.local_bytes + 256, n, c, h, w)
    image, channel = rng.randrange(n), rng.randrange(c)
    images, channels = rng.randint(1, n - image), rng.randint(1, c - channel)
    slot, first = divmod(lane + channel, CHIP.lanes)
    steps = image * outer.strides[0].const + slot * outer.strides[1].const
    start = first * CHIP.local_bytes + 256 + 4 * steps
    strides = outer.strides[0], outer.strides[1], outer.strides[2], outer.strides[3]
    assert kit.holds_all(CHIP, outer, local(start, images, channels, h, w, strides=strides))
    beyond = local(start, images, channels, h + 1, 9, strides=strides)
    after = local(start, images, c - channel + 1, h, w, strides=strides)
    for other in (beyond, after):
        if kit.block(CHIP, other).lane is not kit.block(CHIP, outer).lane:
            assert not kit.holds_all(CHIP, outer, other)


def test_tensors_that_leave_their_lanes_share_the_element_that_both_begin_with() -> None:
    lane = 18 * CHIP.local_bytes
    one, other = local(lane, 1, 64, 65536, 32), local(lane, 1, 63, 65536, 32)
    assert kit.apart(CHIP, one, other) == (E.FALSE, ())
