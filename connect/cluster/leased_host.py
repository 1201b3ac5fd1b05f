"""A task host that works only as long as its worker holds the lease: `--fd N --lease M`."""

from __future__ import annotations

import sys

from connect.cluster.lease import watch
from connect.runtime.host import main

if __name__ == "__main__":
    place = sys.argv.index("--lease")
    watch(int(sys.argv[place + 1]))
    del sys.argv[place : place + 2]
    sys.exit(main())
