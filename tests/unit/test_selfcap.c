/* selfcap: the finding from the client's own knowledge, and the same from the
 * file. */
#include "../../src/cmd/selfcap.h"

#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/listener_live.h"
#include "mcpdiag/mcpd.h"
#include "read_fix.h"

#define RETRY_MS 200

struct run {
	struct loop *loop;
	struct selfcap *cap;
	struct mcpd *server;
	struct listener_live *client;
	char path[40];
	bool leapfrog, stopped;
	struct buf found, again;
};

/* What was found at the end, one a line. */
static void
final(struct buf *b, const struct ev *e)
{
	const struct finding *f = e->type == EV_FINDING ? e->u.finding : NULL;

	if (f && (e->flags & EVF_FINAL))
		(void)buf_fmt(b, "%s %u-%u %.*s\n", f->detector, f->first.pkt, f->last.pkt,
		    STR_ARG(f->title));
}

static void
on_event(void *arg, const struct ev *e)
{
	struct run *r = arg;

	final(&r->found, e);
	if (e->type != EV_FINDING || strcmp(e->u.finding->detector, "leapfrog") != 0)
		return;
	if (!r->leapfrog && r->client)
		listener_live_stop(r->client);
	r->leapfrog = true;
}

static void
on_event_again(void *arg, const struct ev *e)
{
	final(arg, e);
}

static void
on_listener(void *arg, const struct listen_event *e)
{
	struct run *r = arg;

	if (e->what == LISTEN_STOPPED) {
		r->stopped = true;
		loop_stop(r->loop);
	}
}

static void
analyze_file(struct run *r)
{
	struct pipeline_opts po = { .tap = on_event_again, .arg = &r->again };
	struct pipeline *p;

	limits_init(&po.limits);
	p = pipeline_new(&po);
	read_packets_of(p, r->path);
	assert_true(timeline_counts(pipeline_timeline(p))->http_exchanges > 4);
	pipeline_free(p);
}

/* Two listeners of one session; ends with the leapfrog, or after `duration`. */
static void
play(struct run *r, enum chan_policy policy, ns_t duration)
{
	static const ns_t calls[] = { 3 * RETRY_MS * NS_MS / 2 };
	struct selfcap_opts so = { .pipeline = { .tap = on_event, .arg = r },
		.application = "mcpdiag test" };
	struct listener_opts lo;
	struct client_opts co;
	struct mcpd_opts mo;
	struct errmsg em = { "" };
	int fd;

	(void)snprintf(r->path, sizeof r->path, "/tmp/test_selfcap.XXXXXX");
	fd = mkstemp(r->path);
	assert_true(fd >= 0);
	(void)close(fd);
	buf_init(&r->found, 1 << 16);
	buf_init(&r->again, 1 << 16);
	r->loop = loop_new(&em);
	mcpd_opts_init(&mo, policy);
	mo.http.port = 0;
	mo.channel.retry_ms = RETRY_MS;
	r->server = mcpd_new(r->loop, &mo, &em);
	assert_non_null(r->server);
	limits_init(&so.pipeline.limits);
	so.file = r->path;
	r->cap = selfcap_new(r->loop, &so, &em);
	assert_non_null(r->cap);
	client_opts_init(&co);
	co.witness = selfcap_witness(r->cap);
	listener_opts_init(&lo);
	lo.url = mcpd_url(r->server);
	lo.retry = RETRY_MS * NS_MS;
	lo.calls = calls;
	lo.n_calls = 1;
	lo.call_params = "{\"name\":\"emit\",\"arguments\":{}}";
	lo.duration = duration;
	lo.delete = true;
	r->client = listener_live_new(r->loop, &co, &lo, on_listener, r, &em);
	assert_non_null(r->client);
	listener_live_start(r->client);
	loop_run(r->loop);
	assert_true(r->stopped);
	listener_live_free(r->client);
	r->client = NULL;
	assert_int_equal(selfcap_end(r->cap, &em), 0);
	mcpd_free(r->server);
	selfcap_free(r->cap);
	loop_free(r->loop);
	analyze_file(r);
	(void)unlink(r->path);
	(void)buf_addc(&r->found, '\0');
	(void)buf_addc(&r->again, '\0');
	assert_string_equal(r->found.p, r->again.p);
}

static void
done(struct run *r)
{
	buf_fini(&r->found);
	buf_fini(&r->again);
}

static void
leapfrog(void **state)
{
	struct run r = { .leapfrog = false };

	(void)state;
	play(&r, CHAN_REPLACE, 30 * NS_S);
	assert_true(r.leapfrog);
	assert_non_null(strstr(r.found.p, "leapfrog "));
	done(&r);
}

static void
its_cure(void **state)
{
	struct run r = { .leapfrog = false };

	(void)state;
	play(&r, CHAN_SHADOW_PROMOTE, 2 * NS_S);
	assert_false(r.leapfrog);
	assert_null(strstr(r.found.p, "leapfrog"));
	done(&r);
}

static void
no_file(void **state)
{
	struct selfcap_opts so = { .file = "/nonexistent/x.pcapng" };
	struct loop *loop = loop_new(NULL);
	struct errmsg em = { "" };

	(void)state;
	limits_init(&so.pipeline.limits);
	assert_null(selfcap_new(loop, &so, &em));
	assert_non_null(strstr(em.text, "/nonexistent/x.pcapng"));
	selfcap_free(NULL);
	loop_free(loop);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leapfrog),
		cmocka_unit_test(its_cure),
		cmocka_unit_test(no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
