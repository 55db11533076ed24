"""The service of the host: its units, and what it tells systemd."""
