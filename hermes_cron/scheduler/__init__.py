"""When: timers wait, the store decides, threads execute."""
