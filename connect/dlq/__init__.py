"""Shows which dead letters there are and why, and replays them once what made them bad is mended."""
