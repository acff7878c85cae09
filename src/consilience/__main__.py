"""`python -m consilience`: the command line."""

import sys

from consilience.cli.main import main

sys.exit(main())
