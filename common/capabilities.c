/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "common/capabilities.h"

static bool is_on(cap_t caps, cap_value_t value, cap_flag_t flag)
{
	cap_flag_value_t on = CAP_CLEAR;

	return caps && !cap_get_flag(caps, value, flag, &on) && on == CAP_SET;
}

bool capabilities__has(cap_value_t value, cap_flag_t flag)
{
	cap_t caps = cap_get_proc();
	bool has = is_on(caps, value, flag);

	cap_free(caps);
	return has;
}

int capabilities__keep(const cap_value_t *values, int count, struct failure *f)
{
	cap_t before = cap_get_proc(), after = cap_init();
	bool kept = before && after;
	int err;

	for (int i = 0; i < count && kept; i++)
		if (is_on(before, values[i], CAP_PERMITTED))
			kept = !cap_set_flag(after, CAP_PERMITTED, 1, &values[i], CAP_SET) &&
			       !cap_set_flag(after, CAP_EFFECTIVE, 1, &values[i], CAP_SET);
	kept = kept && !cap_set_proc(after);
	err = kept ? 0 : failure__set(f, STATUS_FAILED, -errno, "cannot give up capabilities: %m");
	cap_free(before);
	cap_free(after);
	return err;
}
