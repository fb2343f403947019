# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads raw lines, writes an answer to each, until its input ends: a run's record, or the text of a
line of --interval.
"""

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from derive import BadRaw, record_of  # noqa: E402 (the script's own folder is not in the path)
from derive.interval import Lines  # noqa: E402


def main():
    lines = Lines()
    for line in sys.stdin.buffer:
        try:
            raw = json.loads(line)
            interval = isinstance(raw, dict) and raw.get("schema") == "sendpath.interval/1"
            answer = lines.answer(raw) if interval else record_of(raw)
        except (BadRaw, ValueError, RecursionError) as error:
            return f"derive: not a raw line: {error}"
        sys.stdout.buffer.write(json.dumps(answer, separators=(",", ":")).encode("ascii") + b"\n")
        sys.stdout.buffer.flush()
    return 0


sys.exit(main())
