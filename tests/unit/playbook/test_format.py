"""A playbook that says something the format has not is refused with its line; rows never reach a statement."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_cron.errors import PlaybookInvalid
from hermes_cron.models.playbook.load import load, override, read
from hermes_cron.models.playbook.program import Expect, Parse, Severity

GOOD = """\
playbook: 1
params: {limit: 5, name: x}
facts:
  days: {sql: select 1}
steps:
  - id: one
    title: One
    sql: select 1 as n where 1 < {{ params.limit }} and {{ days }} = {{ facts.days }}
    warning: n >= params.limit
    evidence: "{{ n }}"
  - id: two
    title: {en: Two, zh: 二}
    shell: echo {{ params.name }}
    parse: {columns: [a, "*b"], skip: 1}
    critical: "true"
    evidence: "{{ a }}"
"""


def _loaded(tmp_path: Path, text: str):  # type: ignore[no-untyped-def]
    path = tmp_path / "playbook.yaml"
    path.write_text(text, encoding="utf-8")
    return load(path, shown="p.yaml")


def test_a_good_one_is_understood_and_survives_its_data(tmp_path: Path) -> None:
    program = _loaded(tmp_path, GOOD)
    assert program.steps[0].levels == {Severity.WARNING: "n >= params.limit"}
    assert (program.steps[0].expect, program.steps[1].parse) == (
        Expect.ROWS, Parse(kind="columns", columns=("a", "*b"), skip=1),
    )  # fmt: skip
    assert program.tools() == ("sql_query", "terminal")
    assert read(program.data) == program


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("warning: n", "warnning: n", 'p.yaml:9: unknown key "warnning" in a step, did you mean "warning"?'),
        ("playbook: 1", "playbook: 2", "p.yaml:1: playbook: 2 is not a format this version reads (1)"),
        ("playbook: 1\n", "", "p.yaml:1: playbook: None is not a format this version reads (1)"),
        ("id: two", "id: one", 'p.yaml:11: the name "one" is taken'),
        ("id: two", "id: days", 'p.yaml:11: the name "days" is taken'),
        ("id: two", "id: params", 'p.yaml:11: the name "params" is taken'),
        ("id: two", "id: Two", "p.yaml:11: id 'Two' is not a name (letters, digits, _)"),
        ("    shell: echo {{ params.name }}\n", "", "exactly one of sql, shell, http, tool is wanted, here are 0"),
        ("    parse:", "    sql: select 1\n    parse:", "exactly one of sql, shell, http, tool is wanted, here are 2"),
        ('    critical: "true"\n', "", "p.yaml:11: step two judges nothing: critical, warning or info is missing"),
        ('    evidence: "{{ a }}"\n', "", 'p.yaml:11: step two: "evidence" is missing'),
        ("{en: Two, zh: 二}", "{en: Two}", 'p.yaml:12: "title" is neither a text nor {en: ..., zh: ...}'),
        ("n >= params.limit", "n >= params.limitt", "p.yaml:9: no param 'limitt', did you mean \"limit\"?"),
        ("n >= params.limit", "n >= >= 1", "p.yaml:9: "),
        ('"{{ n }}"', '"{{ n }"', "p.yaml:10: "),
        ('"{{ n }}"', '"{{ n | nope }}"', "p.yaml:10: "),
        ("where 1 <", "where {{ n }} <",
         "p.yaml:8: {{ n }} may not stand in a statement: only days, facts, params may"),
        ("where 1 <", "where {{ last.x }} <", "p.yaml:8: {{ last }} may not stand in a statement"),
        ("where 1 <", "where {{ one }} <", "p.yaml:8: {{ one }} may not stand in a statement"),
        ("echo {{ params.name }}", "echo {{ days }}",
         "p.yaml:13: {{ days }} may not stand in a statement: only params may"),
        ("skip: 1", "skip: -1", 'p.yaml:14: "skip" is not a number of lines'),
        ('[a, "*b"]', '["*a", b]', "p.yaml:14: only the last column may take the rest of the line"),
        ("parse: {columns", "parse: {cols", 'unknown key "cols" in parse, did you mean "columns"?'),
        ("params: {limit: 5, name: x}", "params: {limit: [5], name: x}", "p.yaml:2: param \"limit\" is not a number"),
        ("facts:", "needs: {version: new}\nfacts:", "version 'new' is not \">=NUMBER\""),
        ("facts:", "needs: {role: \"x' or 1\"}\nfacts:", "is not one word"),
        ("facts:", "needs: {engine: oracle}\nfacts:", 'engine "oracle" is unknown (known: postgresql, sqlite)'),
        ("steps:\n", "steps: []\nother:\n", "p.yaml:6: unknown key"),
        ("title: One", "title: [", "p.yaml:"),
        ("title: One", "title: One\n    title: Two", "p.yaml:"),
        ("    warning: n", "    expect: some_rows\n    warning: n",
         'expect "some_rows" is not one of one_row, rows, some'),
    ],
)  # fmt: skip
def test_each_fault_has_its_line(tmp_path: Path, old: str, new: str, fault: str) -> None:
    assert old in GOOD
    with pytest.raises(PlaybookInvalid) as caught:
        _loaded(tmp_path, GOOD.replace(old, new, 1))
    assert fault in caught.value.message
    assert caught.value.message.startswith("p.yaml:")


@pytest.mark.parametrize("text", ["", "just text", "- a", "\ufeff", "{", "playbook: 1"])
def test_what_is_no_playbook(tmp_path: Path, text: str) -> None:
    with pytest.raises(PlaybookInvalid):
        _loaded(tmp_path, text)


def test_a_report_template_lies_beside_the_playbook_and_only_there(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "r.j2").write_text("{{ subject }}: {{ findings | length }}", encoding="utf-8")
    assert _loaded(tmp_path, GOOD + "report: templates/r.j2\n").report == "{{ subject }}: {{ findings | length }}"
    for name in ("templates/gone.j2", "../r.j2", "/etc/passwd.j2"):
        with pytest.raises(PlaybookInvalid, match=r"^p\.yaml:17: no file"):
            _loaded(tmp_path, GOOD + f"report: {name}\n")


def test_a_job_overrides_known_params_of_the_same_kind(tmp_path: Path) -> None:
    program = _loaded(tmp_path, GOOD)
    assert override(program, {"limit": 7.5}).params == {"limit": 7.5, "name": "x"}
    with pytest.raises(PlaybookInvalid, match="no param 'limt'") as caught:
        override(program, {"limt": 7})
    assert caught.value.hint == "did you mean limit?"
    with pytest.raises(PlaybookInvalid, match="does not fit"):
        override(program, {"limit": "seven"})
