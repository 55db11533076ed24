"""Is a home sound, and which command mends what is not? The checks change nothing that is a person's."""
