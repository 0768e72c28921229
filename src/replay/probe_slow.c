#include "probe_priv.h"

#define CALLS 4000U		/* at most */
#define AT_ONCE 16U
/* What the kernels take of a narrow stream: Linux' send buffer begins with 34 KiB
 * of short writes, and each segment that was acknowledged before adds 3 times
 * the memory of one, up to tcp_wmem's 4 MiB. */
#define KERNEL (48U << 10)
#define KERNEL_SEGMENT (4U << 10)
#define KERNEL_MAX (4U << 20)
/* What servers hold back before they wait: asyncio 64 KiB of a connection. */
#define SERVER (128U << 10)

static bool
wants_more(const struct act *a)
{
	const struct probe_fill *f = &a->seen.fill;

	/* By a quarter more, as not all of a call's messages may come. */
	return f->calls < CALLS && f->calls * f->each < f->need / 4 * 5 &&
	    loop_mono(a->probe->loop) < a->fill_end;
}

static void
call(struct act *a, unsigned n)
{
	a->seen.fill.calls++;
	ask_tool(a, n);
}

void
slow_fill(struct act *a)
{
	const struct stream *s = &a->streams[PROBE_A];

	a->seen.fill.need = KERNEL + KERNEL_SEGMENT * ((uint64_t)s->p.events + s->p.comments);
	if (a->seen.fill.need > KERNEL_MAX)
		a->seen.fill.need = KERNEL_MAX;
	a->seen.fill.need += SERVER;
	a->fill_from = s->bytes;
	a->seen.fill.each = s->bytes - a->told;
	a->fill_end = loop_mono(a->probe->loop) + 2 * a->probe->o.answer;
	if (s->req == NULL)
		return;
	client_hold(s->req, true);
	for (unsigned i = 0; i < AT_ONCE && wants_more(a); i++)
		call(a, MANY + i);
}

bool
slow_filled(struct act *a)
{
	bool all = true;

	for (unsigned i = MANY; i < MANY + AT_ONCE; i++) {
		struct stream *s = &a->streams[i];

		if (s->p.asked < 0)
			continue;
		if (!s->p.response && !s->over) {
			all = false;
			continue;
		}
		/* One that fails is not asked again, and counts as none. */
		if (!s->p.response || s->error)
			continue;
		a->seen.fill.answered++;
		s->p.asked = -1;
		if (!wants_more(a))
			continue;
		call(a, i);
		all = false;
		/* As long as they are answered, it goes on. */
		loop_timer_set(a->timer, a->probe->o.answer);
	}
	return all;
}

void
slow_stuck(struct act *a)
{
	for (unsigned i = MANY; i < MANY + AT_ONCE; i++) {
		const struct stream *s = &a->streams[i];

		a->seen.fill.stuck += s->p.asked >= 0 && !s->p.response && !s->over;
	}
}

void
slow_read(struct act *a)
{
	struct stream *s = &a->streams[PROBE_A];

	a->told = s->bytes;
	if (s->req)
		client_hold(s->req, false);
}

/* Who had no answer in time may have it now. */
static bool
owed(const struct act *a)
{
	static const unsigned asked[] = { PROBE_P, PROBE_X, PROBE_C };

	for (unsigned i = 0; i < sizeof asked / sizeof *asked; i++) {
		const struct stream *s = &a->streams[asked[i]];

		if (s->p.late && !s->p.response && !s->over)
			return true;
	}
	return false;
}

bool
slow_drained(struct act *a)
{
	const struct stream *s = &a->streams[PROBE_A];
	bool more = s->bytes != a->told;

	a->told = s->bytes;
	a->seen.fill.bytes = s->bytes - a->fill_from;
	if (s->over)
		return !owed(a);
	if (!a->settling || more) {
		a->settling = true;
		a->settled = false;
		loop_timer_set(a->settle, a->probe->o.quiet);
	}
	return a->settled && !owed(a);
}
