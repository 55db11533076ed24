"""``python -m hermes_cron`` is ``hermes-cron``."""

from __future__ import annotations

from hermes_cron.cli.main import main

if __name__ == "__main__":
    main()
