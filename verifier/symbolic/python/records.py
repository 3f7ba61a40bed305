"""Records: structures of an API whose fields kernels read and assign."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.python.cases import CaseMachine
from verifier.symbolic.python.heap import RecordBox
from verifier.symbolic.python.terms import join, same
from verifier.symbolic.values import Guarded, RecordType, RecordValue, Ref

#: where a record keeps how its fields were computed; no field can have that name
ORIGIN = "<origin>"


class RecordMachine(CaseMachine):
    """The machine with the records of an API."""

    def record(self, kind: RecordType, values: Sequence[object], origin: object = None) -> Ref:
        """A record with these fields."""
        attributes = dict(zip(kind.fields, values, strict=True))
        return self.heap.new(RecordBox(kind, {**attributes, ORIGIN: origin}))

    def contents(self, value: object) -> RecordValue | None:
        """What a record holds now, None if the value is no record.

        Of records that depend on the path, each field depends on it.
        """
        if isinstance(value, RecordValue):
            return value
        if isinstance(value, Guarded):
            return self._of_cases(self.cases(value))
        box = self.box(value)
        if not isinstance(box, RecordBox):
            return None
        assert isinstance(box.cls, RecordType)
        fields = tuple(box.attributes.get(name) for name in box.cls.fields)
        origin = box.attributes.get(ORIGIN)
        return RecordValue(box.cls, fields, None if isinstance(origin, Guarded) else origin)

    def merged(self, value: Guarded) -> object:
        """The value with its records made one; what else the path chooses from stays apart."""
        live = self.cases(value)
        mine = [(g, v) for g, v in live if self.contents(v) is not None]
        record = self._of_cases(mine) if mine else None
        if record is None:
            return value
        record = replace(record, places=Guarded(tuple(mine)))
        others = [(g, v) for g, v in live if self.contents(v) is None]
        here = E.or_(*(g for g, _ in mine))
        return Guarded.of([*others, (here, record)]) if others else record

    def fill(self, value: object, values: Sequence[object], origin: object = None) -> bool:
        """Assign all fields of a record, or of the one that the path chooses."""
        if isinstance(value, RecordValue) and value.places is not None:
            return self.fill(value.places, values, origin)
        for guard, item in self.cases(value):
            box = self.box(item)
            if not isinstance(item, Ref) or not isinstance(box, RecordBox) or box.ghost:
                return False
            written = self.heap.write(item.id)
            assert isinstance(written, RecordBox) and isinstance(written.cls, RecordType)
            new = {**dict(zip(written.cls.fields, values, strict=True)), ORIGIN: origin}
            sole = not isinstance(value, Guarded)
            for name, field in new.items():
                old = written.attributes.get(name)
                written.attributes[name] = field if sole else join(guard, field, old)
        return True

    def _of_cases(self, cases: Sequence[tuple[Bool, object]]) -> RecordValue | None:
        result: RecordValue | None = None
        for guard, item in reversed(cases):
            one = self.contents(item)
            if one is None or (result is not None and one.kind is not result.kind):
                return None
            if result is None:
                result = one
                continue
            fields = tuple(
                join(guard, a, b) for a, b in zip(one.fields, result.fields, strict=True)
            )
            origin = one.origin if same(one.origin, result.origin) else None
            result = RecordValue(one.kind, fields, origin)
        return result


__all__ = ["ORIGIN", "RecordMachine"]
