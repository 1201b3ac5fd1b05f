"""Dead letters after the fact: which there are, why, and back into the work once what made them bad is mended."""
