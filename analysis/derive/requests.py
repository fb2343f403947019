# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes the block io_uring. Its requests to send are counted when they end. If the socket accepts a request in parts,
each part is a send; a request that fails early makes no send.
"""

from analysis.tables.calls import URING_OPERATIONS

from .run import error_name

UNREADABLE = str(len(URING_OPERATIONS))  # the element that counts requests which the kernel programs could not read


def request_row(operation, counts):
    return {"operation": operation, "requests": counts["ended"],
            "errors": {error_name(int(error)): count for error, count in sorted(counts["errors"].items())}}


def requests_block(run):
    """Returns a row for each operation that occurred; None if requests are not counted."""
    if not run.hooked("io_uring completion", "io_uring"):
        return None
    found = run.maps.get("uring_requests")
    if found is None or UNREADABLE in found:
        run.missing("io_uring", "an earlier version, which did not count requests, wrote the raw line" if found is None
                    else "the layout of this kernel's requests is not known")
        return None
    return [request_row(operation, found[str(index)]) for index, operation in enumerate(URING_OPERATIONS)
            if str(index) in found]
