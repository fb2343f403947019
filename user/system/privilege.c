// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/system/privilege.h"

#include "common/capabilities.h"
#include "common/json.h"
#include "common/units.h"
#include "user/system/files.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* See use_built_in_nss() in common/program.c. */
#ifdef SENDPATH_STATIC
#define USER_DATABASE "/etc/passwd"
#else
#define USER_DATABASE "the user database"
#endif

#define INITIAL_USER_NAMESPACE 0xEFFFFFFDU /* PROC_USER_INIT_INO */

static bool in_user_namespace(void)
{
	struct stat own;

	return !stat("/proc/self/ns/user", &own) && own.st_ino != INITIAL_USER_NAMESPACE;
}

const char *privilege__lacking(void)
{
	if (in_user_namespace())
		return "capabilities of a user namespace do not permit BPF: run outside of it, or "
		       "in a container without one";
	if ((capabilities__has(CAP_BPF, CAP_EFFECTIVE) &&
	     capabilities__has(CAP_PERFMON, CAP_EFFECTIVE)) ||
	    capabilities__has(CAP_SYS_ADMIN, CAP_EFFECTIVE))
		return NULL;
	return "loading BPF programs needs CAP_BPF and CAP_PERFMON: run with sudo";
}

/* Finds the user who called sudo; false without sudo. */
static bool calling_user(uid_t *uid, gid_t *gid)
{
	const char *user = getenv("SUDO_UID"), *group = getenv("SUDO_GID");
	unsigned long long u, g;

	if (geteuid() || !user || !group || units__count(user, &u) || units__count(group, &g))
		return false;
	*uid = (uid_t)u;
	*gid = (gid_t)g;
	return *uid;
}

uid_t privilege__caller(void)
{
	uid_t uid;
	gid_t gid;

	return calling_user(&uid, &gid) ? uid : getuid();
}

static int change_user(const struct passwd *user, uid_t uid, gid_t gid)
{
	int err;

	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
		return -errno;
	err = user ? initgroups(user->pw_name, gid) : setgroups(0, NULL);
	if (err || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return -errno;
	/* Changing the uid made /proc/self root's. This makes it the user's again. */
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) ? -errno : 0;
}

/*
 * Returns whether perf requires CAP_SYS_ADMIN instead of CAP_PERFMON, as Debian's kernels do at
 * level 3 of kernel.perf_event_paranoid.
 */
static bool perf_wants_admin(void)
{
	long level;

	return files__number("/proc/sys/kernel/perf_event_paranoid", &level) && level > 2;
}

int privilege__become_user(struct failure *f)
{
	const struct passwd *user;
	uid_t uid;
	gid_t gid;
	int err;

	if (!calling_user(&uid, &gid))
		return 0;
	user = getpwuid(uid);
	err = change_user(user, uid, gid);
	if (err)
		return failure__set(f, STATUS_FAILED, err,
				    "cannot become user %d, who called sudo: %m", (int)uid);
	if (!user)
		snprintf(f->text, sizeof(f->text),
			 "user %d, who called sudo, is not found in " USER_DATABASE
			 ": only its primary group is kept",
			 (int)uid);
	return 0;
}

int privilege__reduce(bool cost, struct failure *f)
{
	static const cap_value_t needed[] = {CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN};

	if (!capabilities__has(CAP_BPF, CAP_PERMITTED))
		return 0; /* before 5.8 CAP_SYS_ADMIN includes it; else there is nothing to drop */
	return capabilities__keep(needed, cost || perf_wants_admin() ? 3 : 2, f);
}

int privilege__drop_attach(struct failure *f)
{
	static const cap_value_t needed[] = {CAP_BPF};

	return capabilities__has(CAP_BPF, CAP_PERMITTED) ? capabilities__keep(needed, 1, f) : 0;
}

int privilege__drop_all(struct failure *f)
{
	/* Without this, root would regain all capabilities at the next exec. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return failure__set(f, STATUS_FAILED, -errno, "cannot give up capabilities: %m");
	return capabilities__keep(NULL, 0, f);
}

static struct rlimit memlock;

void privilege__note_limits(void)
{
	getrlimit(RLIMIT_MEMLOCK, &memlock);
}

void privilege__restore_limits(void)
{
	setrlimit(RLIMIT_MEMLOCK, &memlock);
}

json_object *privilege__json(void)
{
	json_object *o = json_object_new_object();
	cap_t caps = cap_get_proc();
	char *text = caps ? cap_to_text(caps, NULL) : NULL;

	json__add(o, "uid", json_object_new_int((int)getuid()));
	json__add_string(o, "capabilities", text);
	json__add(o, "memlock",
		  memlock.rlim_cur == RLIM_INFINITY
			  ? json_object_new_string("unlimited")
			  : json_object_new_int64((int64_t)memlock.rlim_cur));
	cap_free(text);
	cap_free(caps);
	return o;
}
