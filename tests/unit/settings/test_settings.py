"""What config.toml says is understood whole, or the line that is not is named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hermes_cron import config_keys
from hermes_cron.domain.database import DatabaseConfig
from hermes_cron.errors import ConfigError, HermesCronError, SecretInPlainSight
from hermes_cron.home import Home
from hermes_cron.settings import Environment, LimitSettings, ModelSettings, Price, Settings, environment

NOWHERE = Path("/h/config.toml")


def parse(text: str, **env: object) -> Settings:
    return Settings.parse(text, NOWHERE, Environment(**{"time_zone": "UTC", **env}))  # type: ignore[arg-type]


def test_an_empty_file_has_the_defaults() -> None:
    assert parse("") == Settings()


def test_everything_can_be_set() -> None:
    text = """
timezone = "Asia/Shanghai"
language = "zh"
concurrency = 8
catch_up_hours = 1.5
[model]
name = "gpt-5-mini"
base_url = "http://127.0.0.1:11434/v1"
key = "secret:openai"
stream = true
timeout_s = 30
max_tokens = 4096
temperature = 0
[limits]
minutes = 5
iterations = 10
[retention]
runs = 7
days = 3
[databases.prod]
url = "postgresql://watcher@db/shop"
password = "secret:db-prod"
statement_timeout_s = 5
row_cap = 10
byte_cap = 5000
allow_writable_account = true
[databases."订单"]
url = "sqlite:///orders.db"
[prices."gpt-5-mini"]
input = 1
output = 2.5
cached = 0.1
"""
    found = parse(text)
    assert (found.timezone, found.language, found.concurrency, found.catch_up_hours) == ("Asia/Shanghai", "zh", 8, 1.5)
    assert found.model == ModelSettings(
        name="gpt-5-mini", base_url="http://127.0.0.1:11434/v1", key_ref="secret:openai", stream=True, timeout_s=30.0,
        max_tokens=4096, temperature=0.0,
    )  # fmt: skip
    assert found.limits == LimitSettings(minutes=5, iterations=10)
    assert found.databases["prod"] == DatabaseConfig(
        name="prod", engine="postgresql", url="postgresql://watcher@db/shop", password_ref="secret:db-prod",
        allow_writable_account=True, statement_timeout_s=5.0, row_cap=10, byte_cap=5000,
    )  # fmt: skip
    assert found.databases["订单"].engine == "sqlite"
    assert found.prices["gpt-5-mini"] == Price(input=1.0, output=2.5, cached=0.1)


@pytest.mark.parametrize(
    "text, said",
    [
        ('timezone = "UTC"\nshedule = 1\n', 'config.toml:2: unknown key "shedule"'),
        ("\n[model]\nnmae = 'x'\n", 'config.toml:3: unknown key "nmae", did you mean "name"?'),
        ("concurency = 4", 'config.toml:1: unknown key "concurency", did you mean "concurrency"?'),
        ("[modle]\nname = 'x'", 'config.toml:1: unknown key "modle", did you mean "model"?'),
        ("[modle]", 'config.toml:1: unknown key "modle", did you mean "model"?'),
        ("# x\n[databases.prod]\nurl = 'a.db'\npasswrd = 'secret:x'", 'config.toml:4: unknown key "passwrd", did'),
        ('[prices."gpt-5.2"]\ninput = 1\noutputs = 2', 'config.toml:3: unknown key "outputs", did you mean "output"?'),
        ('model = "gpt"', 'config.toml:1: "model" is a table of keys, not a value'),
        ("databases = 3", 'config.toml:1: "databases" is a table of keys, not a value'),
        ("databases.prod = 3", 'config.toml:1: "databases.prod" is a table of keys, not a value'),
        ("[timezone]\nx = 1", "config.toml:1: timezone: must be text, not a table"),
        ('concurrency = "4"', "config.toml:1: concurrency: must be a whole number, not text"),
        ("concurrency = 4.0", "config.toml:1: concurrency: must be a whole number, not a number"),
        ("concurrency = true", "config.toml:1: concurrency: must be a whole number, not true or false"),
        ("concurrency = 0", "config.toml:1: concurrency: must be 1 to 256, not 0"),
        ("concurrency = [1]", "config.toml:1: concurrency: must be a whole number, not a list"),
        ("catch_up_hours = -1", "config.toml:1: catch_up_hours: must be 0 to 8784, not -1"),
        ("catch_up_hours = nan", "config.toml:1: catch_up_hours: must be 0 to 8784, not nan"),
        ("catch_up_hours = inf", "config.toml:1: catch_up_hours: must be 0 to 8784, not inf"),
        (
            "[budget]\ncost_usd_per_day = nan",
            "config.toml:2: budget.cost_usd_per_day: must be a number that ends, not nan",
        ),
        (
            "[budget]\ncost_usd_per_day = inf",
            "config.toml:2: budget.cost_usd_per_day: must be a number that ends, not inf",
        ),
        ("[prices.m]\ninput = -0.5\noutput = 1", "config.toml:2: prices.m.input: must be at least 0, not -0.5"),
        ("model.stream = 1", "config.toml:1: model.stream: must be true or false, not a whole number"),
        ('language = "de"', 'config.toml:1: language: must be one of en, zh, not "de"'),
        ('timezone = "Mars/Base"', 'config.toml:1: timezone: no time zone "Mars/Base"'),
        ('timezone = "../etc/passwd"', "config.toml:1: timezone: no time zone"),
        ('timezone = ""', "config.toml:1: timezone: must not be empty"),
        ('[model]\nbase_url = "ftp://x"', 'config.toml:2: model.base_url: "ftp://x" is not an http or https URL'),
        ('[model]\nbase_url = "localhost:8000"', "config.toml:2: model.base_url"),
        ('[databases.x]\nurl = "mysql://u@h/d"', "config.toml:2: databases.x.url: cannot read databases of the kind"),
        ("[databases.x]\nrow_cap = 5", 'config.toml: database "x" has no url'),
        ('[databases.x]\nurl="a.db"\nengine="postgresql"', 'config.toml: database "x" says engine postgresql, its url'),
        ("[prices.m]\ninput = 1", 'config.toml: the price of "m" needs input and output'),
        ("a = ", "config.toml:1: invalid value"),
        ("timezone = 'UTC'\n\nx y", "config.toml:3: "),
        ("[model]\n[model]", "config.toml:2: cannot declare"),
        ("concurrency = 1\nconcurrency = 2", "config.toml:2: cannot overwrite a value"),
        ('x = """abc', "config.toml:1: unterminated string"),
    ],
)
def test_a_fault_is_named_with_its_line(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert caught.value.message.startswith(said)
    assert caught.value.exit_code == 78
    assert caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        '[model]\nkey = "sk-hunter2hunter2"',
        '[model]\nkey = "secret:"',
        '[model]\nkey = "Secret:hunter2"',
        '[model]\nbase_url = "https://me:hunter2@host/v1"',
        '[databases.p]\nurl = "postgresql://u:hunter2@h/d"',
        '[databases.p]\nurl = "postgresql://u:a#hunter2@h/d"',
        '[databases.p]\nurl = "postgresql://u:a/hunter2@h/d"',
        '[databases.p]\nurl = "postgresql://u@h/d?password=hunter2"',
        '[databases.p]\nurl = "sqlite.db"\npassword = "hunter2"',
    ],
)
def test_a_secret_in_the_file_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(SecretInPlainSight) as caught:
        parse(text)
    assert caught.value.message.startswith("config.toml:")
    assert "hunter2" not in caught.value.message + str(caught.value.hint)
    assert caught.value.exit_code == 4


def test_the_environment_goes_before_the_file() -> None:
    text = '[model]\nname = "a"\nbase_url = "http://a/v1"\nkey = "secret:a"'
    found = parse(text, model="b", base_url="http://b/v1", api_key="sk-b").model
    assert (found.name, found.base_url, found.key, found.key_ref) == ("b", "http://b/v1", "sk-b", "secret:a")
    assert "sk-b" not in repr(found)


@pytest.mark.parametrize("url", ["not a url", "https://u:hunter2@h/v1"])
def test_a_wrong_variable_is_named(url: str) -> None:
    with pytest.raises(HermesCronError, match="OPENAI_BASE_URL") as caught:
        parse("", base_url=url)
    assert "hunter2" not in caught.value.message


@pytest.mark.parametrize(
    "variables, language",
    [({}, "en"), ({"LANG": "zh_CN.UTF-8"}, "zh"), ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
     ({"LANG": "de"}, "en"), ({"LC_MESSAGES": "zh_TW"}, "zh"), ({"LANG": ""}, "en")],
)  # fmt: skip
def test_the_language_of_the_environment(variables: dict[str, str], language: str) -> None:
    assert environment(variables).language == language


def test_the_test_clock_needs_the_test_switch() -> None:
    assert environment({"HERMES_CRON_CLOCK_FILE": "f"}).clock_file is None
    assert environment({"HERMES_CRON_CLOCK_FILE": "f", "HERMES_CRON_TESTING": "1"}).clock_file == "f"


@pytest.mark.parametrize(
    "tz, zone", [("Asia/Shanghai", "Asia/Shanghai"), (":Europe/Berlin", "Europe/Berlin"), ("UTC", "UTC")]
)
def test_without_a_configured_zone_tz_says_it(tz: str, zone: str) -> None:
    assert parse("", time_zone=tz).timezone == zone


@pytest.mark.parametrize("tz", [None, "CST-8", "Mars/Base", "/etc/passwd"])
def test_a_tz_that_names_no_zone_falls_back_to_one_that_exists(tz: str | None) -> None:
    assert config_keys.is_time_zone(parse("", time_zone=tz).timezone) is None


def test_a_file_saved_with_a_byte_order_mark_is_read(home: Home) -> None:
    home.config.write_bytes(b'\xef\xbb\xbftimezone = "UTC"\n')
    assert Settings.load(home, Environment()).timezone == "UTC"


def test_a_file_that_is_not_utf8_is_said(home: Home) -> None:
    home.config.write_bytes('language = "检查"'.encode("gbk"))
    with pytest.raises(ConfigError, match="not UTF-8"):
        Settings.load(home, Environment())


def test_loading_settings_imports_nothing_heavy(home: Home) -> None:
    script = (
        "import sys; from pathlib import Path; from hermes_cron.home import Home\n"
        "from hermes_cron.settings import Settings\n"
        f"Settings.load(Home(Path({str(home.root)!r})))\n"
        "heavy = {'pydantic', 'tomlkit', 'cryptography', 'sqlalchemy', 'rich', 'click', 'tzlocal'}\n"
        "print(sorted(heavy & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_setting_has_a_default_of_its_type_and_a_line_of_help() -> None:
    for setting in config_keys.SETTINGS:
        assert setting.says.endswith("."), setting.name
        if setting.default is not None:
            assert config_keys.fault(setting, setting.default) is None, setting.name
