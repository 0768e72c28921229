#include "mcpdiag/privdrop.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mcpdiag/str.h"

/* Who called sudo(8), as it says in the environment. */
static bool
sudo_ids(uid_t *uid, gid_t *gid)
{
	const char *u = getenv("SUDO_UID"), *g = getenv("SUDO_GID");
	uint64_t un, gn;

	if (u == NULL || g == NULL || !str_u64(str_c(u), &un) || !str_u64(str_c(g), &gn) ||
	    un == 0 || un > UINT32_MAX - 1 || gn > UINT32_MAX - 1)
		return false;
	*uid = (uid_t)un;
	*gid = (gid_t)gn;
	return true;
}

static int
become(uid_t uid, gid_t gid, struct errmsg *em)
{
	if (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 ||
	    setresuid(uid, uid, uid) != 0)
		return err_set(em, E_IO, "cannot become user %u: %s", (unsigned)uid,
		    strerror(errno));
	/* There must be no way back. */
	if (uid != 0 && setuid(0) == 0)
		return err_set(em, E_IO, "cannot give up root for good");
	return 0;
}

static int
drop_capabilities(struct errmsg *em)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];

	memset(none, 0, sizeof none);
	if (syscall(SYS_capset, &head, none) != 0)
		return err_set(em, E_IO, "cannot give up capabilities: %s", strerror(errno));
	return 0;
}

int
privdrop(const char *user, struct errmsg *em)
{
	const struct passwd *pw;
	uid_t uid;
	gid_t gid;
	int rc = 0;

	if (user && strcmp(user, "root") == 0)
		return 0;
	if (geteuid() == 0) {
		if (user || !sudo_ids(&uid, &gid)) {
			pw = getpwnam(user ? user : "nobody");
			if (pw == NULL)
				return err_set(em, E_USAGE, "there is no user %s; --user names "
				    "another one", user ? user : "nobody");
			uid = pw->pw_uid;
			gid = pw->pw_gid;
		}
		rc = become(uid, gid, em);
	}
	if (rc == 0)
		rc = drop_capabilities(em);
	if (rc == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		rc = err_set(em, E_IO, "no_new_privs: %s", strerror(errno));
	return rc;
}
