"""The part of JSON Schema that is understood, and the refusal of all the rest."""

from __future__ import annotations

from typing import Any

import pytest

from hermes_cron.domain.json_schema import misfit, not_understood

ROW = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "minimum": 0, "maximum": 9}}}
REPORT = {
    "type": "object",
    "required": ["state", "rows"],
    "properties": {
        "state": {"enum": ["fine", "broken"]},
        "rows": {"type": "array", "items": ROW},
        "day": {"type": "string", "pattern": "^2026-"},
        "note": {"type": ["string", "null"]},
    },
}


@pytest.mark.parametrize(
    "value",
    [
        {"state": "fine", "rows": []},
        {"state": "broken", "rows": [{"n": 0}, {"n": 9.0}], "day": "2026-12-01", "note": None, "more": 1},
    ],
)
def test_what_fits(value: Any) -> None:
    assert not_understood(REPORT) is None
    assert misfit(value, REPORT) is None


@pytest.mark.parametrize(
    "value, said",
    [
        ([], "$ is array, not object"),
        ({"rows": []}, "$ has no state"),
        ({"state": "fine"}, "$ has no rows"),
        ({"state": "good", "rows": []}, "$.state is none of the values of enum"),
        ({"state": "fine", "rows": {}}, "$.rows is object, not array"),
        ({"state": "fine", "rows": [{"n": 1}, {}]}, "$.rows[1] has no n"),
        ({"state": "fine", "rows": [{"n": 1.5}]}, "$.rows[0].n is number, not integer"),
        ({"state": "fine", "rows": [{"n": True}]}, "$.rows[0].n is boolean, not integer"),
        ({"state": "fine", "rows": [{"n": -1}]}, "$.rows[0].n is -1, below 0"),
        ({"state": "fine", "rows": [{"n": 10}]}, "$.rows[0].n is 10, above 9"),
        ({"state": "fine", "rows": [], "day": "1999-01-01"}, "$.day does not match ^2026-"),
        ({"state": "fine", "rows": [], "note": 1}, "$.note is number, not string or null"),
    ],
)
def test_the_first_misfit_is_told_with_its_place(value: Any, said: str) -> None:
    assert misfit(value, REPORT) == said


@pytest.mark.parametrize(
    "value, wanted, fits",
    [(1, 1.0, True), (True, 1, False), (0, False, False), ([1, {"a": 1}], [1.0, {"a": 1}], True), ([1], [True], False)],
)
def test_enum_compares_as_json_does(value: Any, wanted: Any, fits: bool) -> None:
    assert (misfit(value, {"enum": [wanted]}) is None) is fits


def test_a_whole_number_beyond_all_bounds_is_one() -> None:
    assert misfit(10**400, {"type": "integer"}) is None
    assert misfit(float("inf"), {"type": "integer"}) is not None


@pytest.mark.parametrize(
    "schema, said",
    [
        ("x", "schema: expected a mapping"),
        ({"minLength": 1}, 'schema: "minLength" is not understood; known: type, required'),
        ({"properties": {"a": {"oneOf": []}}}, 'schema.properties.a: "oneOf" is not understood'),
        ({"items": {"type": "text"}}, "schema.items.type: expected one or more of null, boolean"),
        ({"required": "a"}, "schema.required: expected a list of names"),
        ({"enum": []}, "schema.enum: expected a list"),
        ({"minimum": "1"}, "schema.minimum: expected a number"),
        ({"pattern": "("}, "schema.pattern: not a regular expression"),
        ({"properties": []}, "schema.properties: expected a mapping"),
    ],
)
def test_a_schema_that_says_more_than_is_understood_is_refused(schema: Any, said: str) -> None:
    assert (not_understood(schema) or "").startswith(said)


def test_a_schema_without_end_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(60):
        schema = {"items": schema}
    assert "nested too deeply" in (not_understood(schema) or "")
