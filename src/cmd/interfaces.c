#include "interfaces.h"

#include <stdio.h>

#include "cmd.h"
#include "complain.h"
#include "mcpdiag/live.h"

struct first {
	char *name;
	size_t size;
	bool loopback;
};

static void
list_device(void *arg, const struct live_device *d)
{
	(void)arg;
	printf("%-18s %s%s%s%s\n", d->name, d->up ? "up" : "down",
	    d->loopback ? ", loopback" : "", d->what ? "  " : "", d->what ? d->what : "");
}

int
interfaces_list(void)
{
	struct errmsg em;

	if (live_devices(list_device, NULL, &em) == 0)
		return STATUS_CLEAN;
	complain("mcpdiag watch: %s", em.text);
	return STATUS_ENVIRONMENT;
}

static void
take_first(void *arg, const struct live_device *d)
{
	struct first *f = arg;

	if (!d->up || (f->name[0] && !f->loopback))
		return;
	(void)snprintf(f->name, f->size, "%s", d->name);
	f->loopback = d->loopback;
}

bool
interfaces_first(char *name, size_t size)
{
	struct first f = { name, size, false };
	struct errmsg em;

	name[0] = '\0';
	return live_devices(take_first, &f, &em) == 0 && name[0];
}
