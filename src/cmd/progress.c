#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define FIRST_MS 500
#define EVERY_MS 200
#define PACKETS 2048		/* between looks at the clock */

static int64_t
now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void
progress_init(struct progress *p, bool wanted)
{
	*p = (struct progress){ .on = wanted && isatty(STDERR_FILENO) };
	if (p->on)
		p->begun = now_ms();
}

bool
progress_due(struct progress *p)
{
	int64_t now;

	if (!p->on || ++p->skip < PACKETS)
		return false;
	p->skip = 0;
	now = now_ms();
	if (now - p->begun < FIRST_MS || now - p->last < EVERY_MS)
		return false;
	p->last = now;
	return true;
}

void
progress_show(struct progress *p, uint64_t done, uint64_t total)
{
	p->shown = true;
	if (total)
		fprintf(stderr, "\rmcpdiag: %u%% of %.0f MB\033[K",
		    (unsigned)(done < total ? done * 100.0 / total : 100),
		    (double)total / 1e6);
	else
		fprintf(stderr, "\rmcpdiag: %.0f MB read\033[K",
		    (double)done / 1e6);
	fflush(stderr);
}

void
progress_fini(struct progress *p)
{
	if (!p->shown)
		return;
	fprintf(stderr, "\r\033[K");
	fflush(stderr);
	p->shown = false;
}
