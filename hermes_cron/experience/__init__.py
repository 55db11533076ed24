"""What the agent knows between runs: skills today."""
