"""Backups: a whole home in one file, taken while it runs, that proves itself when it is opened."""
