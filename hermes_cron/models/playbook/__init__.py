"""The embedded model: a skill's steps as data, run by the same loop as a language model (design decision 9)."""
