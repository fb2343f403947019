# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that the dashboard fits Grafana's schema, with the types of Grafana's foundation SDK."""

import enum
import json
import typing

import pytest
from conftest import ROOT
from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

plugins.register_default_plugins()


def loaded():
    return json.loads((ROOT / "deploy/grafana/sendpath.json").read_text())


def unknown_keys(given, known, path=""):
    """Yields the keys that the types lack. Grafana would lose them when it saves the dashboard."""
    if isinstance(given, dict):
        for key, value in given.items():
            if key in known:
                yield from unknown_keys(value, known[key], f"{path}.{key}")
            else:
                yield f"{path}.{key}"
    elif isinstance(given, list):
        for index, (one, other) in enumerate(zip(given, known, strict=True)):
            yield from unknown_keys(one, other, f"{path}[{index}]")


def fits(value, hint):
    if hint is float:
        hint = (int, float)
    return hint in (object, typing.Any) or (isinstance(value, hint) and isinstance(value, bool) <= (hint is bool))


def wrong_types(value, hint, path=""):
    """Yields the values whose type differs from the schema's, also inside the fields of its classes."""
    origin, of = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Union:
        found = [list(wrong_types(value, one, path)) for one in of]
        yield from [] if [] in found else min(found, key=len)
    elif origin is typing.Literal or isinstance(hint, type) and issubclass(hint, enum.Enum):
        if value not in (of or [member.value for member in hint]):
            yield f"{path} {value!r}"
    elif not fits(value, origin or hint):
        yield f"{path} {value!r}"
    elif origin in (list, dict):
        for key, one in value.items() if origin is dict else enumerate(value):
            yield from wrong_types(one, of[-1], f"{path}.{key}")
    elif type(value).__module__.startswith("grafana_foundation_sdk."):
        for name, of_field in typing.get_type_hints(type(value)).items():
            yield from wrong_types(getattr(value, name), of_field, f"{path}.{name}")


def problems(dashboard):
    read = Dashboard.from_json(dashboard)
    written = json.loads(JSONEncoder().encode(read))
    return [*unknown_keys(dashboard, written), *wrong_types(read, Dashboard)]


def test_the_schema_takes_the_dashboard():
    assert problems(loaded()) == []


@pytest.mark.parametrize("place,key,value,said", [
    (lambda d: d, "titel", "x", ".titel"),
    (lambda d: d["panels"][0]["options"], "colourMode", "none", ".panels[0].options.colourMode"),
    (lambda d: d["panels"][0]["gridPos"], "w", "6", ".panels.0.grid_pos.w '6'"),
    (lambda d: d["panels"][0]["options"], "colorMode", "nothing", ".panels.0.options.color_mode 'nothing'"),
    (lambda d: d["panels"][0]["targets"][0], "expression", "up", ".panels[0].targets[0].expression")])
def test_the_schema_refuses_others(place, key, value, said):
    """Shows that the test of the schema can fail."""
    dashboard = loaded()
    place(dashboard)[key] = value
    assert problems(dashboard) == [said]
