"""One task: its loop, its ledger, its pipeline, its errors, and the child process it runs in."""
