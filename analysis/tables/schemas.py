# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The names of the formats of records."""

SCHEMA = "sendpath.run/3"
FAILURE_SCHEMA = "sendpath.failure/1"  # the record of a planned run that failed or was skipped
