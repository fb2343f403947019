# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""__main__.py PROGRAM: makes runs by the engine on descriptor 3, and reports them.

PROGRAM is the name that messages begin with.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from front.session import serve  # noqa: E402 (the script's own folder is not in the path)

sys.exit(serve(sys.argv[1], 3))
