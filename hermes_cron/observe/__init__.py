"""What a running service tells: lines now, metrics later."""
