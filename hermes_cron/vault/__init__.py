"""Secrets at rest, and the black bar over them everywhere else."""
