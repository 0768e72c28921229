#include "selfcap.h"

#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/capsynth.h"
#include "mcpdiag/xmem.h"

#define TICK (50 * NS_MS)
#define MAX_CONNS 65536U	/* open at once */

struct selfcap {
	struct loop *loop;
	struct loop_timer *timer;
	struct pipeline *pipeline;
	struct witness *witness;
	struct capsynth *synth;
	struct capwrite *file;	/* or NULL */
	ns_t to_epoch;		/* added to the monotonic clock */
	uint32_t n_packets;
	bool failed;		/* something was left out */
};

/* Time of day, but never going back. */
static ns_t
now(const struct selfcap *s)
{
	return loop_mono(s->loop) + s->to_epoch;
}

static int
on_packet(void *arg, ns_t t, const void *data, size_t n)
{
	struct selfcap *s = arg;
	struct packet pk = { .t = t, .pkt = ++s->n_packets, .linktype = CAPSYNTH_LINKTYPE,
		.len = (uint32_t)n, .wire_len = (uint32_t)n, .data = data };

	(void)pipeline_packets(s->pipeline, &pk, 1);
	return s->file ? capwrite_packet(s->file, t, data, n, n) : 0;
}

static void
on_opened(void *arg, uint32_t conn, const char *client, const char *server)
{
	struct selfcap *s = arg;

	s->failed |= capsynth_open(s->synth, conn, client, server, now(s)) != 0;
}

static void
on_bytes(void *arg, uint32_t conn, bool response, const void *p, size_t n)
{
	struct selfcap *s = arg;

	s->failed |= capsynth_data(s->synth, conn, response, p, n, now(s)) != 0;
}

static void
on_closed(void *arg, uint32_t conn, bool by_client, bool reset)
{
	struct selfcap *s = arg;

	s->failed |= capsynth_close(s->synth, conn, by_client, reset, now(s)) != 0;
}

/* Rules that wait for time to pass get it when nothing comes, too. */
static void
on_tick(void *arg)
{
	struct selfcap *s = arg;

	pipeline_tick(s->pipeline, now(s));
	loop_timer_set(s->timer, TICK);
}

struct selfcap *
selfcap_new(struct loop *loop, const struct selfcap_opts *o, struct errmsg *em)
{
	static const struct witness_cb cb = { on_opened, on_bytes, on_closed };
	const struct capwrite_opts co = { .linktype = CAPSYNTH_LINKTYPE,
		.application = o->application, .comment = CAPSYNTH_COMMENT };
	struct capwrite *file = NULL;
	struct selfcap *s;

	if (o->file) {
		file = capwrite_new(o->file, &co, em);
		if (file == NULL)
			return NULL;
	}
	s = xcalloc(1, sizeof *s);
	s->loop = loop;
	s->file = file;
	s->to_epoch = loop_now(loop) - loop_mono(loop);
	s->pipeline = pipeline_new(&o->pipeline);
	s->synth = capsynth_new_to(on_packet, s, MAX_CONNS);
	s->witness = witness_new(&cb, s);
	s->timer = loop_timer_new(loop, on_tick, s);
	loop_timer_set(s->timer, TICK);
	return s;
}

void
selfcap_free(struct selfcap *s)
{
	if (s == NULL)
		return;
	loop_timer_free(s->timer);
	witness_free(s->witness);
	capsynth_free(s->synth);
	pipeline_free(s->pipeline);
	capwrite_free(s->file);
	free(s);
}

struct witness *
selfcap_witness(const struct selfcap *s)
{
	return s->witness;
}

int
selfcap_end(struct selfcap *s, struct errmsg *em)
{
	loop_timer_clear(s->timer);
	pipeline_end(s->pipeline);
	if (s->file && capwrite_flush(s->file) != 0)
		return err_set(em, E_IO, "%s", capwrite_error(s->file));
	if (s->failed)
		return err_set(em, E_LIMIT, "more than %u connections at once: not all "
		    "of them are looked at", MAX_CONNS);
	return 0;
}

struct pipeline *
selfcap_pipeline(const struct selfcap *s)
{
	return s->pipeline;
}
