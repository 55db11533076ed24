"""One home's parts, put together."""

from hermes_cron.wiring.app import App, settle

__all__ = ["App", "settle"]
