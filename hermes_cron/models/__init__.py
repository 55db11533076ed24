"""Who answers a model call? An OpenAI-compatible server, a playbook, or a script in tests."""
