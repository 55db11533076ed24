"""The tool ``now``: what time it is for the job."""

from __future__ import annotations

import json
from zoneinfo import ZoneInfo

from pydantic import Field

from hermes_cron.errors import InvalidArguments
from hermes_cron.tools.context import ToolContext
from hermes_cron.tools.declaration import Arguments, Tool


class Now(Arguments):
    timezone: str | None = Field(default=None, description="IANA name; default: the job's zone")


def now(arguments: Now, context: ToolContext) -> str:
    """One JSON object, whole seconds."""
    zone = _zone(arguments.timezone) if arguments.timezone else context.zone
    instant = context.clock.now().replace(microsecond=0)
    local = instant.astimezone(zone)
    return json.dumps(
        {
            "local": local.isoformat(),
            "timezone": zone.key,
            "weekday": f"{local:%A}",
            "utc": f"{instant:%Y-%m-%dT%H:%M:%SZ}",
        }
    )


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:  # ZoneInfoNotFoundError is a KeyError; a folder's name an OSError
        raise InvalidArguments(f"no time zone {name!r}", hint="an IANA name such as Asia/Shanghai") from error


TOOL = Tool(
    name="now",
    toolset="clock",
    description="The current date and time, in the job's time zone or another.",
    arguments=Now,
    handler=now,
)
