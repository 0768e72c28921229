#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "complain.h"
#include "mcpdiag/capsynth.h"
#include "mcpdiag/listener_live.h"
#include "mcpdiag/mcpd.h"
#include "opts.h"

#define RETRY_MS 1000
#define DEFAULT_SECONDS 8
#define MAX_SECONDS 3600

enum { O_POLICY = OPT_OWN, O_SECONDS, O_KEEP };

static const struct opt options[] = {
	{ O_POLICY, 0, "policy", "NAME", "only this one; mcpdiag serve --list has them" },
	{ O_SECONDS, 0, "duration", "SECONDS", "of each run (8)" },
	{ O_KEEP, 0, "keep", "DIR", "leave the captures there" },
	OPTS_STANDARD,
	{ 0 },
};

static const char *const examples[] = {
	"mcpdiag demo", "the fault, then its cure, with the analysis of each",
	"mcpdiag demo --policy shadow-empty --keep .", "another one, and its capture",
	NULL,
};

struct run {
	struct loop *loop;
	struct mcpd *server;
	struct capwrite *file;
	struct capsynth *synth;
	ns_t start;
	bool failed;
};

static void
on_opened(void *arg, uint32_t conn, const char *client, const char *server)
{
	struct run *r = arg;

	r->failed |= capsynth_open(r->synth, conn, client, server, loop_now(r->loop)) != 0;
}

static void
on_bytes(void *arg, uint32_t conn, bool response, const void *p, size_t n)
{
	struct run *r = arg;

	r->failed |= capsynth_data(r->synth, conn, response, p, n,
	    loop_now(r->loop)) != 0;
}

static void
on_closed(void *arg, uint32_t conn, bool by_client, bool reset)
{
	struct run *r = arg;

	r->failed |= capsynth_close(r->synth, conn, by_client, reset,
	    loop_now(r->loop)) != 0;
}

/* What the clients do, as it happens: their GETs, and who gets a message. */
static void
on_listener(void *arg, const struct listen_event *e)
{
	struct run *r = arg;
	double t = (double)(loop_mono(r->loop) - r->start) / 1e9;
	const char *who = e->kind == LISTEN_INITIALIZE ? "A" : e->kind == LISTEN_STANDALONE ?
	    "B" : "C";

	switch (e->what) {
	case LISTEN_ANSWER:
		if (strcmp(e->method, "GET") == 0)
			printf("  %6.3f s  listener %s: GET%s%.*s -> %u%s\n", t, who,
			    e->cursor.n ? ", Last-Event-ID " : "", STR_ARG(e->cursor),
			    e->status, e->status == 200 ? "" : ", gives up");
		break;
	case LISTEN_MESSAGE:
		if (e->rpc_method.p && e->kind != LISTEN_CALL)
			printf("  %6.3f s  listener %s: list_changed\n", t, who);
		break;
	case LISTEN_ENDED:
		break;
	case LISTEN_STOPPED:
		loop_stop(r->loop);
		break;
	}
	(void)fflush(stdout);
}

static void
listen_to(const struct run *r, struct listener_opts *o, unsigned seconds)
{
	static const ns_t calls[] = { NS_S / 2, 5 * NS_S / 2, 9 * NS_S / 2, 13 * NS_S / 2 };

	listener_opts_init(o);
	o->url = mcpd_url(r->server);
	o->retry = RETRY_MS * NS_MS;
	o->calls = calls;
	o->n_calls = sizeof calls / sizeof *calls;
	o->call_params = "{\"name\":\"emit\",\"arguments\":{}}";
	o->duration = seconds * NS_S;
	o->delete = true;
	/* One connection for each stream, as a browser has them. */
	o->fresh = true;
}

/* Server and clients in one loop, until the time is over. */
static int
converse(struct run *r, enum chan_policy policy, unsigned seconds)
{
	struct listener_live *client = NULL;
	struct listener_opts lo;
	struct client_opts co;
	struct mcpd_opts o;
	struct errmsg em;

	mcpd_opts_init(&o, policy);
	o.http.port = 0;
	o.channel.retry_ms = RETRY_MS;
	o.keepalive = 2 * NS_S;
	o.opened = on_opened;
	o.bytes = on_bytes;
	o.closed = on_closed;
	o.arg = r;
	r->server = mcpd_new(r->loop, &o, &em);
	if (r->server) {
		listen_to(r, &lo, seconds);
		client_opts_init(&co);
		client = listener_live_new(r->loop, &co, &lo, on_listener, r, &em);
	}
	if (client) {
		r->start = loop_mono(r->loop);
		listener_live_start(client);
		loop_run(r->loop);
	}
	listener_live_free(client);
	mcpd_free(r->server);
	if (client == NULL) {
		complain("mcpdiag demo: %s", em.text);
		return STATUS_ENVIRONMENT;
	}
	return 0;
}

static int
play(enum chan_policy policy, unsigned seconds, const char *path)
{
	struct capwrite_opts co = { .linktype = CAPSYNTH_LINKTYPE,
		.application = "mcpdiag demo " MCPDIAG_VERSION,
		.comment = CAPSYNTH_COMMENT };
	struct run r = { 0 };
	struct errmsg em = { "" };
	int rc = STATUS_ENVIRONMENT;

	r.loop = loop_new(&em);
	r.file = r.loop ? capwrite_new(path, &co, &em) : NULL;
	if (r.file == NULL) {
		complain("mcpdiag demo: %s", em.text);
	} else {
		r.synth = capsynth_new(r.file, 1024);
		rc = converse(&r, policy, seconds);
		if (capwrite_flush(r.file) != 0 || r.failed) {
			complain("mcpdiag demo: %s: %s", path, capwrite_error(r.file) ?
			    capwrite_error(r.file) : "the capture is not complete");
			rc = STATUS_ENVIRONMENT;
		}
	}
	capsynth_free(r.synth);
	capwrite_free(r.file);
	loop_free(r.loop);
	return rc;
}

/* One policy: play, then analyze what was played. */
static int
show(enum chan_policy policy, unsigned seconds, const char *dir)
{
	const char *name = chan_policy_names[policy];
	char path[4096], analyze[] = "analyze", *argv[] = { analyze, path, NULL };
	int rc;

	if ((size_t)snprintf(path, sizeof path, "%s/demo-%s.pcapng", dir, name) >=
	    sizeof path) {
		complain("mcpdiag demo: --keep %s: the name is too long", dir);
		return STATUS_USAGE;
	}
	printf("== a server with --policy %s, two listeners of one session, %u s\n", name,
	    seconds);
	rc = play(policy, seconds, path);
	if (rc != 0)
		return rc;
	printf("\n$ mcpdiag analyze %s\n", path);
	(void)fflush(stdout);
	opts_restart();
	rc = cmd_analyze.run(&cmd_analyze, 2, argv);
	printf("exit status %d\n\n", rc);
	return rc;
}

struct wish {
	int policy;		/* an enum chan_policy; -1: the whole story */
	unsigned seconds;
	const char *keep;	/* a folder, or NULL */
};

static int
set(void *wish, int id, const char *arg)
{
	struct wish *w = wish;
	uint64_t n;

	switch (id) {
	case O_POLICY:
		for (w->policy = 0; w->policy < CHAN_N_POLICIES; ++w->policy)
			if (strcmp(arg, chan_policy_names[w->policy]) == 0)
				break;
		if (w->policy == CHAN_N_POLICIES) {
			complain("mcpdiag demo: --policy %s: no such policy; "
			    "`mcpdiag serve --list` has them", arg);
			return STATUS_USAGE;
		}
		break;
	case O_SECONDS:
		if (!str_u64(str_c(arg), &n) || n == 0 || n > MAX_SECONDS) {
			complain("mcpdiag demo: --duration %s: give seconds, 1 to %d", arg,
			    MAX_SECONDS);
			return STATUS_USAGE;
		}
		w->seconds = (unsigned)n;
		break;
	case O_KEEP:
		w->keep = arg;
		break;
	}
	return 0;
}

static int
run(const struct command *cmd, int argc, char **argv)
{
	static const enum chan_policy story[] = { CHAN_REPLACE, CHAN_SHADOW_PROMOTE };
	char temp[] = "/tmp/mcpdiag-demo-XXXXXX", path[sizeof temp + 64];
	struct wish w = { .policy = -1, .seconds = DEFAULT_SECONDS };
	const char *dir;
	int operand, rc, rc2;

	rc = opts_each(cmd, argc, argv, set, &w, &operand);
	if (rc != 0)
		return rc == OPT_DONE ? STATUS_CLEAN : rc;
	if (operand < argc) {
		complain("mcpdiag demo: %s: takes no operands", argv[operand]);
		return STATUS_USAGE;
	}
	dir = w.keep ? w.keep : mkdtemp(temp);
	if (dir == NULL) {
		complain("mcpdiag demo: %s: %s; --keep DIR names another place", temp,
		    strerror(errno));
		return STATUS_ENVIRONMENT;
	}
	rc = show(w.policy >= 0 ? (enum chan_policy)w.policy : story[0], w.seconds, dir);
	if (w.policy < 0 && rc <= STATUS_FOUND) {
		rc2 = show(story[1], w.seconds, dir);
		/* The story is right when the fault was found, and only there. */
		rc = rc2 > STATUS_FOUND ? rc2 :
		    rc == STATUS_FOUND && rc2 == STATUS_CLEAN ? STATUS_CLEAN : STATUS_FOUND;
	}
	if (w.keep == NULL) {
		for (int i = 0; i < CHAN_N_POLICIES; i++) {
			(void)snprintf(path, sizeof path, "%s/demo-%s.pcapng", dir,
			    chan_policy_names[i]);
			(void)unlink(path);
		}
		(void)rmdir(dir);
	}
	return rc;
}

const struct command cmd_demo = {
	.name = "demo",
	.synopsis = "[options]",
	.summary = "Shows a leapfrog and its cure, on this machine.",
	.statuses = "0 the fault was found and the cure is clean (with --policy:\n"
	    "  nothing found), 1 not so, 2 usage, 4 environment",
	.opts = options,
	.examples = examples,
	.run = run,
};
