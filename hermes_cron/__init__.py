"""hermes-cron: agent jobs that may be left alone. Importing the package does nothing."""

__version__ = "0.1.0"
