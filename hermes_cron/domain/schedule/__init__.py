"""Schedules: what a phrase means, which instants it yields, and how it is said in words."""
