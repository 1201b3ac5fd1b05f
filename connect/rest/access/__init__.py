"""Who someone is and what they may do: users, tokens of an issuer, roles. Knows nothing of routes."""
