"""`python -m mha_core`: see `mha_core.cli`."""

import sys

try:
    from mha_core.cli import main
except KeyboardInterrupt:  # torch takes seconds to import
    sys.exit(130)

sys.exit(main())
