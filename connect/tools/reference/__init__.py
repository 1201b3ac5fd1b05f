"""The reference of everything a person can set, generated from the declarations themselves: `connect reference`."""
