/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parts of the record's "host" block: what can be set otherwise, as it stands now. */
#pragma once

#include <json-c/json.h>

/* Kernel settings by name, each the text that the kernel shows. */
json_object *host_settings__json(void);
/* Network devices of this network namespace that are hardware, or look like it. */
json_object *host_devices__json(void);
/* The machine's name; NULL if it has none. */
json_object *host_name__json(void);
