"""Which files hold a secret, and so stay out of the history?"""

from __future__ import annotations

import pytest

from hermes_cron.vault.finder import Finder
from hermes_cron.vault.vault import Vault


@pytest.mark.parametrize(
    "value, text, found",
    [
        ("hunter2hunter2", "the password is hunter2hunter2.", True),
        ("hunter2hunter2", "the password is hunter2", False),
        (" padded-value\n", "x=padded-value", True),
        ("密码密码密码", "用 密码密码密码 登录", True),
        ("short", "short", False),
        ("postgres", "postgresql://postgres@localhost/shop", False),
        ("Password", "Password not shown", False),
        ("watcher", "postgresql://watcher@localhost/shop", True),
    ],
)
def test_whole_values_are_found_and_words_that_everybody_knows_are_not(value: str, text: str, found: bool) -> None:
    said = Finder("", lambda: {"name": value})(text.encode())
    assert said == ('it holds the value of the secret "name"' if found else None)
    assert Vault.stands_in(value, text) is found


def test_the_vault_is_opened_once_and_only_when_something_is_asked() -> None:
    opened: list[int] = []

    def values() -> dict[str, str]:
        opened.append(1)
        return {"x": "hunter2hunter2"}

    finder = Finder("", values)
    assert opened == []
    finder(b"a")
    finder(b"b")
    assert opened == [1]
