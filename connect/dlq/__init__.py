"""Shows the dead letters and their errors, and replays them when the cause is mended."""
