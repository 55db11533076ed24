"""What one run does: prompt, agent or script, outcome, output."""
