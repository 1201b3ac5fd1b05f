"""Makes the estimates, charts, files and the HTML report of an evaluation."""
