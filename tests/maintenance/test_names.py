"""Names that are pronouns are counted wherever a function can bind a name, and stay few."""

from __future__ import annotations

from pathlib import Path

import pytest

from maintenance.names import ROOMS, bindings, names_of, pronouns

from ..conftest import ROOT

# Highest share of pronouns in a room, in percent.
LIMIT = 1.0
# Each way in which a function binds a name, and the names that it binds in order of their lines.
FORMS = {
    "parameters": ("def f(a, /, b, *c, d, **e): pass", "a b c d e"),
    "an assignment": ("def f():\n a = b", "a"),
    "several at once": ("def f():\n (a, *b), c.d = e", "a b"),
    "an assignment with a type": ("def f():\n a: int = 1", "a"),
    "an assignment that adds": ("def f():\n a += 1", "a"),
    "a loop": ("def f():\n for a, b in c: pass", "a b"),
    "a comprehension": ("def f():\n return [a for a in b if (c := a)]", "a c"),
    "with": ("def f():\n with a as b: pass", "b"),
    "except": ("def f():\n try: pass\n except E as a: pass", "a"),
    "a lambda": ("key = lambda a: a", "a"),
    "async": ("async def f(a):\n async for b in c: pass", "a b"),
}


def names_in(code: str, folder: Path) -> list[tuple[int, str]]:
    file = folder / "module.py"
    file.write_text(code)
    return [(binding.line, binding.name) for binding in bindings(file)]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_binding_is_counted(form: str, tmp_path: Path) -> None:
    code, names = FORMS[form]
    assert sorted(name for _, name in names_in(code, tmp_path)) == names.split()


def test_a_name_counts_once_for_each_function(tmp_path: Path) -> None:
    code = "def f(found):\n found = found + 1\n def g():\n  found = 2\n  return found\n return g\n"
    assert sorted(names_in(code, tmp_path)) == [(1, "found"), (4, "found")]


def test_names_outside_of_functions_do_not_count(tmp_path: Path) -> None:
    assert names_in("found = 1\nclass A:\n  one: int = 2\nfor each in (): pass\n", tmp_path) == []


def test_pronouns_with_and_without_an_underscore(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    code = "def f(_found, founder, these, ones, placed):\n known, unknown = 1, 2\n"
    (tmp_path / "room" / "module.py").write_text(code)
    names = names_of(tmp_path / "room")
    assert len(names) == 7
    assert [binding.name for binding in pronouns(names)] == ["_found", "these", "known"]


@pytest.mark.parametrize("room", ROOMS)
def test_few_names_of_a_room_are_pronouns(room: str) -> None:
    names = names_of(ROOT / room)
    assert len(names) > 100
    assert 100 * len(pronouns(names)) / len(names) < LIMIT
