"""Where do commands run? One module an environment; only the host for now."""
