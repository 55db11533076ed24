"""Memories beside the built-in one."""
