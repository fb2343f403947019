# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The kinds of values that keys have, as JSON schema and in words."""

from typing import NamedTuple


class Kind(NamedTuple):
    words: str            # the kind's name in docs/run-record.md
    schema: dict          # JSON schema, without the keys
    keys: tuple = ()      # the keys of a block, or of each block of a list
    listed: bool = False
    shared: str = ""      # the kind's name among the schema's $defs; "": it is not there

    @property
    def plain(self):
        """The JSON type of a value other than null; "string" for an enum of names, "object" for a block."""
        named = self.schema.get("type", "string" if "enum" in self.schema else None)
        return named[0] if isinstance(named, list) else named

    def key(self, name):
        """Returns a key of a block."""
        return next(key for key in self.keys if key.name == name)


class Key(NamedTuple):
    name: str
    kind: Kind
    meaning: str           # for people, not a sentence; with the unit unless the name has the unit
    required: bool = True  # False: some records, perhaps only of older versions, lack the key


def _plain(of, words, **rules):
    """Returns the kind of a plain value. of: its JSON type. rules: other rules of the schema; None: no such rule."""
    return Kind(words, {"type": of, **{name: rule for name, rule in rules.items() if rule is not None}})


def integer(least=None, most=None):
    return _plain("integer", "integer", minimum=least, maximum=most)


def number(least=0, most=None):
    return _plain("number", "number", minimum=least, maximum=most)


def positive():
    return _plain("number", "number", exclusiveMinimum=0)


def text(least=None, pattern=None):
    return _plain("string", "text", minLength=least, pattern=pattern)


def one_of(*names):
    words = ["null" if name is None else f"`{name}`" for name in names]
    return Kind(" or ".join(words) if len(words) < 5 else "name", {"enum": list(names)})


def only(name):
    return Kind(f"`{name}`" if isinstance(name, str) else str(name).lower(), {"const": name})


def block(*keys, **more):
    """Returns the kind of a block. more: other rules of the schema."""
    return Kind("block", {"type": "object", **more}, keys)


def list_of(kind, **more):
    """Returns the kind of a list of blocks, or of plain values."""
    if kind.keys:
        return Kind("list of blocks", {"type": "array", **more, "items": kind.schema}, kind.keys, True)
    return Kind(f"list of {kind.words}", {"type": "array", **more, "items": schema_of(kind)})


def tuples_of(*kinds):
    """Returns the kind of a list of lists. Each inner list has one value of each of these kinds, in this order."""
    return Kind("list of lists", {"type": "array", "items": {
        "type": "array", "prefixItems": [schema_of(kind) for kind in kinds],
        "minItems": len(kinds), "maxItems": len(kinds)}})


def mapping(kind):
    return Kind(f"{kind.words} by name", {"type": "object", "additionalProperties": schema_of(kind)})


SHARED = {}


def shared(name, kind):
    """Returns the kind as a shared kind: the schema defines it once, by this name, and keys refer to the definition."""
    SHARED[name] = kind._replace(shared=name)
    return SHARED[name]


def null(kind):
    """Returns a kind that also allows null, for a value that was not measured or does not exist."""
    if kind.shared:
        return Kind(f"{kind.words} or null", {"anyOf": [{"type": "null"}, schema_of(kind)]})
    schema = dict(kind.schema)
    if "enum" in schema:
        schema["enum"] = [*schema["enum"], None]
    else:
        schema["type"] = [schema["type"], "null"]
    return kind._replace(words=f"{kind.words} or null", schema=schema)


COUNT = integer(0)
SHARE = number(0, 1)
TEXT = text()
NAME = text(1)
TRUTH = _plain("boolean", "true or false")


def _with_keys(schema, keys):
    required = [key.name for key in keys if key.required]
    return {**schema, **({"required": required} if required else {}),
            "properties": {key.name: {**schema_of(key.kind), "description": key.meaning} for key in keys}}


def whole_schema(kind):
    """Returns the schema of a kind with its keys, even if the kind is shared."""
    if not kind.keys:
        return kind.schema
    if kind.listed:
        return {**kind.schema, "items": _with_keys(kind.schema["items"], kind.keys)}
    return _with_keys(kind.schema, kind.keys)


def schema_of(kind):
    return {"$ref": f"#/$defs/{kind.shared}"} if kind.shared else whole_schema(kind)
