"""Makes the reference of everything that a person can set, from the declarations themselves: `connect reference`."""
