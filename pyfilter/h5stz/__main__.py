"""`python -m h5stz`: the command line."""

import sys

from h5stz.cli import main

sys.exit(main())
