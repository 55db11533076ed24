"""Snapshots: every version of jobs, skills, memories and settings, in a git repository that needs no git program."""
