#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "mcpdiag/str.h"

#define DEFAULT_WIDTH 100

static bool
env_set(const char *name)
{
	const char *v = getenv(name);

	return v && *v;
}

bool
report_color(const char *when, const struct output *o)
{
	const char *term = getenv("TERM");

	if (when && strcmp(when, "auto") != 0)
		return strcmp(when, "always") == 0;
	if (env_set("NO_COLOR"))
		return false;
	if (env_set("FORCE_COLOR") || env_set("CLICOLOR_FORCE"))
		return true;
	return o->tty && term && strcmp(term, "dumb") != 0;
}

unsigned
report_width(const struct output *o)
{
	struct winsize ws;
	uint64_t n = 0;

	if (!o->tty)
		return DEFAULT_WIDTH;
	if (env_set("COLUMNS") && str_u64(str_c(getenv("COLUMNS")), &n) && n)
		;
	else if (ioctl(o->fd, TIOCGWINSZ, &ws) == 0 && ws.ws_col)
		n = ws.ws_col;
	else
		n = DEFAULT_WIDTH;
	return n < 40 ? 40 : n > 200 ? 200 : (unsigned)n;
}
