"""Ask servers by HTTP."""
