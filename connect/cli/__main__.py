"""`python -m connect.cli` is `connect`."""

import sys
from pathlib import Path

import connect
from connect.cli import main

# As the first entry of the path `-m` puts the working folder, where connectors may write files: what is imported later
# must not come from there, unless this program itself does.
here = str(Path.cwd())
if not sys.flags.safe_path and sys.path[0] == here and not Path(connect.__file__).is_relative_to(here):
    del sys.path[0]
main()
