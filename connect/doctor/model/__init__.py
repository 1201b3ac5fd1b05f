"""The facts, the findings, and words that checks share. Pure: values only."""
