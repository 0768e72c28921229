#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cmd.h"
#include "complain.h"
#include "expect.h"
#include "gate.h"
#include "known.h"
#include "load.h"
#include "mcpdiag/sink.h"
#include "mcpdiag/xmem.h"
#include "opts.h"
#include "output.h"
#include "replay_show.h"
#include "report.h"
#include "selfcap.h"
#include "target.h"
#include "value.h"

#define MAX_SESSIONS 10000
#define MAX_POOLS 64		/* of connections; more clients share them */
#define SMALL_BUFFER 1024
#define CLIENT_BYTES (64U << 10)	/* of one client and what is known of it */
#define MAX_SECONDS 86400

enum {
	O_DRY_RUN = OPT_OWN, O_ALLOW, O_TOOL, O_WHERE, O_CLIENT, O_SPEED,
	O_MAX_WAIT, O_TIMEOUT, O_SESSIONS,
	O_WRITE, O_FORMAT, O_OUTPUT, O_QUIET, O_VERBOSE, O_COLOR, O_FAIL_ON, O_STRICT,
	O_EXPECT, O_BASELINE, O_WRITE_BASELINE,
	O_SHOW_SECRETS,
};

static const struct opt options[] = {
	{ O_DRY_RUN, 0, "dry-run", NULL, "print what would be played, and ask nobody" },
	{ O_ALLOW, 0, "allow", "METHOD[:TOOL]",
	  "play this too: tools/call:NAME, resources/read, ..." },
	{ O_TOOL, 0, "tool", "NAME=OTHER", "play calls of NAME, and call OTHER" },
	{ O_WHERE, 'Y', "where", "EXPR", "play only what matches: 'session == ab'" },
	{ O_CLIENT, 0, "client", "KIND",
	  "recorded (default), or who stands in: eventsource, ts-1.32, python, ..." },
	{ O_SPEED, 'x', "speed", "N|max", "N times as fast; max: without waiting (1)" },
	{ O_MAX_WAIT, 0, "max-wait", "SECONDS", "cut longer pauses of the capture" },
	{ O_TIMEOUT, 0, "timeout", "SECONDS", "wait so long for an answer (30)" },
	{ O_SESSIONS, 0, "sessions", "N", "play it N times at once (1)" },
	TARGET_OPTS,
	{ O_WRITE, 'w', "write", "FILE", "write what was exchanged as a capture" },
	{ O_FORMAT, 'T', "format", "FORMAT", "text (default) or json" },
	{ O_OUTPUT, 'o', "output", "FILE", "write there instead of stdout" },
	{ O_QUIET, 'q', "quiet", NULL, "findings only; -qq: exit status only" },
	{ O_VERBOSE, 'v', "verbose", NULL, "every stream, session and fact" },
	{ O_COLOR, 0, "color", "WHEN", "auto (default), always or never" },
	{ O_FAIL_ON, 0, "fail-on", "LEVEL", "exit 1 from: info, warning, error (default), none" },
	{ O_STRICT, 0, "strict", NULL, "exit 1, too, when answers are not as captured" },
	{ O_EXPECT, 0, "expect", "FILE", "a report: exit 0 when its findings come, and no other" },
	{ O_BASELINE, 0, "baseline", "FILE", "expected findings: exit 1 for others, and without them" },
	{ O_WRITE_BASELINE, 0, "write-baseline", "FILE", "write what is found as such a file" },
	{ O_SHOW_SECRETS, 0, "show-secrets", NULL, "session ids and tokens as they are" },
	OPTS_STANDARD,
	{ 0 },
};

static const char *const examples[] = {
	"mcpdiag replay leapfrog.pcap http://localhost:3000/mcp", "does this server do it, too?",
	"mcpdiag replay --dry-run leapfrog.pcap", "what would be sent, and when",
	"mcpdiag replay --allow tools/call:echo a.pcap URL", "that tool's calls, too",
	NULL,
};

struct run {
	const struct command *cmd;
	struct pipeline_opts pipe;	/* of the capture, then of the run */
	struct player_opts player;
	const char **files;
	unsigned n_files, cap_files;
	const char *write, *output, *color;
	struct target target;
	uint64_t sessions;
	bool dry_run, json, fail, strict;
	enum severity fail_on;
	int quiet, verbose;
	struct known known;
	struct expect expect;
	struct where *where;
	struct plan *plan;
	struct pipeline *captured;
	struct loop *loop;
	struct selfcap *cap;
	struct player **players;
	struct standin **standins;	/* in their place, of this kind */
	const struct client_row *row;
	unsigned playing;
	struct client *pools[MAX_POOLS];
	unsigned n_pools;
	bool interrupted;
};

static int
usage(const char *option, const char *value, const char *want)
{
	return value_bad("replay", option, value, want);
}

/* ---- options ---- */

/* A number with a fraction, of ours: at most max. */
static bool
decimal(const char *arg, double max, double *out)
{
	char *end;

	errno = 0;
	*out = strtod(arg, &end);
	return errno == 0 && end != arg && *end == '\0' && *out > 0 && *out <= max &&
	    arg[0] >= '0' && arg[0] <= '9' && strpbrk(arg, "xXeEpPnN") == NULL;
}

static int
seconds(const char *option, const char *arg, ns_t *out)
{
	double v;

	if (!decimal(arg, MAX_SECONDS, &v))
		return usage(option, arg, "give seconds, more than 0");
	*out = (ns_t)(v * 1e9);
	return 0;
}

static int
set_client(struct run *r, const char *arg)
{
	const char *names[64] = { "recorded" };
	const struct client_row *row;
	struct buf b;
	int rc;

	r->row = clients_find(arg);
	if (r->row || strcmp(arg, "recorded") == 0)
		return 0;
	buf_init(&b, 4096);
	(void)buf_adds(&b, STR("it is recorded"));
	for (unsigned i = 0; (row = clients_row(i)) != NULL && i < 62; i++) {
		names[i + 1] = row->name;
		(void)buf_fmt(&b, ", %s", row->name);
	}
	if (opts_nearest(arg, names)) {
		buf_clear(&b);
		(void)buf_fmt(&b, "no such client; did you mean %s?", opts_nearest(arg, names));
	}
	(void)buf_addc(&b, '\0');
	rc = usage("--client", arg, b.p);
	buf_fini(&b);
	return rc;
}

static int
set_number(struct run *r, int id, const char *arg)
{
	int rc;

	switch (id) {
	case O_SPEED:
		if (strcmp(arg, "max") == 0)
			r->player.speed = 0;
		else if (!decimal(arg, 1e6, &r->player.speed))
			return usage("--speed", arg, "give a number, or max");
		return 0;
	case O_MAX_WAIT:
		return seconds("--max-wait", arg, &r->player.max_wait);
	case O_TIMEOUT:
		rc = seconds("--timeout", arg, &r->player.answer_timeout);
		if (rc == 0 && r->player.connect_timeout > r->player.answer_timeout)
			r->player.connect_timeout = r->player.answer_timeout;
		return rc;
	case O_SESSIONS:
		return value_number("replay", "--sessions", arg, 1, MAX_SESSIONS, &r->sessions);
	case O_FAIL_ON:
		return value_fail_on("replay", arg, &r->fail, &r->fail_on);
	}
	return STATUS_USAGE;
}

static int
set(void *run, int id, const char *arg)
{
	struct run *r = run;
	static const char *const formats[] = { "text", "json", NULL };
	struct errmsg em;
	int i = 0, rc = 0;

	switch (id) {
	case O_DRY_RUN:
		r->dry_run = true;
		return 0;
	case O_ALLOW:
		if (plan_allow(r->plan, arg, &em) != 0)
			return usage("--allow", arg, em.text);
		return 0;
	case O_TOOL:
		if (plan_rename(r->plan, arg, &em) != 0)
			return usage("--tool", arg, em.text);
		return 0;
	case O_WHERE:
		return value_where("replay", arg, &r->where);
	case O_CLIENT:
		return set_client(r, arg);
	case O_WRITE:
		r->write = arg;
		return 0;
	case O_FORMAT:
		rc = value_word("replay", "--format", arg, formats, "it is text or json", &i);
		r->json = i == 1;
		return rc;
	case O_OUTPUT:
		r->output = arg;
		return 0;
	case O_QUIET:
		r->quiet++;
		return 0;
	case O_VERBOSE:
		r->verbose++;
		return 0;
	case O_COLOR:
		return value_color("replay", arg, &r->color);
	case O_EXPECT:
		r->expect.path = arg;
		return 0;
	case O_BASELINE:
		r->known.path = arg;
		return 0;
	case O_WRITE_BASELINE:
		r->known.write = arg;
		return 0;
	case O_STRICT:
		r->strict = true;
		return 0;
	case O_SHOW_SECRETS:
		r->pipe.show_secrets = true;
		return 0;
	case O_SPEED: case O_MAX_WAIT: case O_TIMEOUT: case O_SESSIONS: case O_FAIL_ON:
		return set_number(r, id, arg);
	}
	return target_set(&r->target, "replay", id, arg);
}

static int
set_operands(struct run *r, char **v, int n)
{
	for (int i = 0; i < n; i++) {
		if (target_is_url(v[i]) && r->target.url)
			return usage(v[i], "", "one URL is enough");
		if (target_is_url(v[i])) {
			(void)target_url(&r->target, "replay", v[i]);
			continue;
		}
		r->files = xgrow(r->files, r->n_files, &r->cap_files, sizeof *r->files);
		r->files[r->n_files++] = v[i];
	}
	if (r->n_files == 0) {
		complain("mcpdiag replay: no capture given: mcpdiag replay CAPTURE URL");
		return STATUS_USAGE;
	}
	if (r->target.url == NULL && !r->dry_run) {
		complain("mcpdiag replay: no URL given, such as http://localhost:3000/mcp; "
		    "--dry-run needs none");
		return STATUS_USAGE;
	}
	if (r->row && r->player.speed <= 0)
		return usage("--client", r->row->name, "it has delays of its own: give --speed "
		    "a number");
	if (r->row && r->player.max_wait > 0)
		return usage("--max-wait", "with --client", "it only cuts pauses of recorded "
		    "clients");
	if (r->row && r->strict)
		return usage("--strict", "with --client", "there is nothing to compare");
	if (r->expect.path && !r->fail)
		return usage("--expect", r->expect.path, "--fail-on none leaves nothing to expect");
	r->expect.from = r->fail_on;
	return 0;
}

/* ---- the plan ---- */

static void
on_event(void *arg, const struct ev *e)
{
	struct run *r = arg;

	plan_event(r->plan, e);
}

static void
on_text(void *arg, struct str text, uint64_t bytes, bool cut)
{
	struct run *r = arg;

	(void)bytes;
	plan_text(r->plan, text, cut);
}

static int
make_plan(struct run *r)
{
	struct pipeline_opts o = r->pipe;
	struct pipeline *p;
	bool events;
	int rc;

	o.tap = on_event;
	o.text = on_text;
	o.request_text = PLAN_BODY;
	o.arg = r;
	/* Hashes of session ids stay: they are never sent. */
	o.show_secrets = false;
	p = pipeline_new(&o);
	rc = load(r->cmd->name, p, r->files, r->n_files, &events);
	if (rc == 0) {
		plan_make(r->plan, r->where);
		if (plan_count(r->plan) == 0) {
			complain("mcpdiag replay: %s: no MCP in it; `mcpdiag analyze` says "
			    "what is there", r->files[0]);
			rc = STATUS_INPUT;
		}
	}
	r->captured = p;
	return rc;
}

/* ---- the run ---- */

static void
on_done(void *arg)
{
	struct run *r = arg;

	if (--r->playing == 0)
		loop_stop(r->loop);
}

static void
on_signal(void *arg, int sig)
{
	struct run *r = arg;

	(void)signal(sig, SIG_DFL);
	r->interrupted = true;
	for (uint64_t i = 0; i < r->sessions; i++)
		if (r->row)
			standin_stop(r->standins[i]);
		else
			player_stop(r->players[i]);
}

static int
start_player(struct run *r, uint64_t i, struct errmsg *em)
{
	uint32_t first = (uint32_t)i * plan_clients(r->plan);
	struct client *const *pools = r->n_pools ? r->pools : NULL;
	const struct standin_opts so = { .pools = pools, .n_pools = r->n_pools,
		.first_pool = first, .url = r->target.url, .headers = r->player.headers,
		.n_headers = r->player.n_headers, .row = r->row, .speed = r->player.speed,
		.answer_timeout = r->player.answer_timeout, .client = r->player.client };
	struct player_opts po = r->player;

	if (r->row) {
		r->standins[i] = standin_new(r->loop, r->plan, &so, on_done, r);
		return standin_start(r->standins[i], em);
	}
	po.pools = pools;
	po.n_pools = r->n_pools;
	po.first_pool = first;
	r->players[i] = player_new(r->loop, r->plan, &po, on_done, r);
	return player_start(r->players[i], em);
}

/* A pool of curl's takes 30 KiB: many clients share some. */
static int
open_pools(struct run *r, struct errmsg *em)
{
	if (r->sessions * plan_clients(r->plan) <= MAX_POOLS)
		return 0;
	r->player.client.buffer = SMALL_BUFFER;
	for (; r->n_pools < MAX_POOLS; r->n_pools++) {
		r->pools[r->n_pools] = client_new(r->loop, &r->player.client, em);
		if (r->pools[r->n_pools] == NULL)
			return -E_IO;
	}
	return 0;
}

static void
close_pools(struct run *r)
{
	while (r->n_pools > 0)
		client_free(r->pools[--r->n_pools]);
}

/* As many descriptors as there may be. */
static void
raise_limit(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) != 0)
		return;
	l.rlim_cur = l.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &l);
}

static int
play(struct run *r)
{
	struct errmsg em;
	int rc;

	raise_limit();
	if (open_pools(r, &em) != 0) {
		complain("mcpdiag replay: %s", em.text);
		return STATUS_ENVIRONMENT;
	}
	r->players = xcalloc(r->sessions, sizeof *r->players);
	r->standins = xcalloc(r->sessions, sizeof *r->standins);
	for (uint64_t i = 0; i < r->sessions; i++) {
		rc = start_player(r, i, &em);
		if (rc != 0) {
			complain("mcpdiag replay: %s", em.text);
			return rc == -E_USAGE ? STATUS_INPUT : STATUS_ENVIRONMENT;
		}
		r->playing++;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	if (loop_signal(r->loop, SIGINT, on_signal, r, &em) != 0 ||
	    loop_signal(r->loop, SIGTERM, on_signal, r, &em) != 0) {
		complain("mcpdiag replay: %s", em.text);
		return STATUS_ENVIRONMENT;
	}
	loop_run(r->loop);
	return 0;
}

static int
exit_status(const struct run *r, const struct verdict *v)
{
	for (int s = SEV_INFO; s <= SEV_ERROR; s++)
		if (r->fail && (enum severity)s >= r->fail_on &&
		    v->n_severity[s] > v->n_remarks[s])
			return STATUS_FOUND;
	return v->hidden ? STATUS_INCOMPLETE : STATUS_CLEAN;
}

static void
print(const struct run *r, struct output *o, const struct verdict *v,
    const struct compare *c)
{
	const struct timeline *tl = pipeline_timeline(selfcap_pipeline(r->cap));
	struct text_opts opts = { .color = report_color(r->color, o),
		.findings_only = r->quiet == 1, .all = r->verbose > 0,
		.width = report_width(o) };

	if (r->quiet > 1)
		return;
	if (r->json) {
		if (r->row)
			replay_show_standins_json(&o->out, r->target.url, r->standins[0], r->row);
		else
			replay_show_json(&o->out, r->target.url, r->plan, r->players[0], c);
		sink_json(&o->out, tl, v, MCPDIAG_VERSION);
		out_c(&o->out, "}\n");
		return;
	}
	sink_text(&o->out, tl, v, &opts);
	if (r->quiet > 0)
		return;
	if (r->row) {
		replay_show_standins(&o->out, r->standins[0], r->row);
		return;
	}
	replay_show_run(&o->out, r->plan, r->players[0], (unsigned)r->sessions,
	    r->verbose > 0);
	replay_show_compare(&o->out, r->plan, c, r->verbose > 0);
}

static void
note_speed(const struct run *r, struct verdict *v)
{
	if (r->player.speed != 1)
		verdict_note(v, "speed", "the replay was not in real time: delays of clients "
		    "are not those that the server asked for");
}

static int
report(struct run *r, struct output *o)
{
	struct timeline *tl = pipeline_timeline(selfcap_pipeline(r->cap));
	struct errmsg em, target;
	struct compare *c = NULL;
	struct gate all = { .only.n = 0 };
	struct verdict *v;
	uint32_t hidden, stale;
	int rc, found;

	rc = r->row ? standin_target(r->standins[0], &target) :
	    player_target(r->players[0], &target);
	rc = rc == 0 ? 0 : STATUS_TARGET;
	for (uint64_t i = 0; i < r->sessions; i++)
		if (r->row)
			standin_close(r->standins[i]);
		else
			player_close(r->players[i]);
	close_pools(r);
	if (selfcap_end(r->cap, &em) < 0) {
		complain("mcpdiag replay: %s", em.text);
		return STATUS_ENVIRONMENT;
	}
	if (rc != 0) {
		complain("mcpdiag replay: %s", target.text);
		return rc;
	}
	rc = known_write(&r->known, tl, r->files, r->n_files);
	if (rc != 0)
		return rc;
	hidden = known_hide(&r->known, tl);
	v = verdict_new(tl);
	note_speed(r, v);
	stale = known_say(&r->known, &all, hidden, v, r->quiet < 2);
	found = r->expect.path ? expect_judge(&r->expect, tl, v, r->quiet < 2) :
	    exit_status(r, v);
	/* With several at once it is not known whose stream is whose. */
	if (r->row == NULL)
		c = compare_new(r->plan, r->players[0], pipeline_timeline(r->captured),
		    r->sessions == 1 ? tl : NULL);
	print(r, o, v, c);
	rc = output_done(o, &em);
	if (rc < 0)
		complain("mcpdiag replay: %s", em.text);
	rc = rc < 0 ? STATUS_ENVIRONMENT : rc > 0 ? STATUS_PIPE : found;
	if ((rc == STATUS_CLEAN || rc == STATUS_INCOMPLETE) &&
	    (stale || (r->strict && compare_differ(c) > 0)))
		rc = STATUS_FOUND;
	compare_free(c);
	verdict_free(v);
	return rc;
}

static int
replay(struct run *r, struct output *o)
{
	struct selfcap_opts so = { .pipeline = r->pipe, .file = r->write,
		.application = "mcpdiag replay " MCPDIAG_VERSION };
	struct errmsg em = { "" };
	int rc = STATUS_ENVIRONMENT;

	/* That limit is for the whole program, and so for its requests, too. */
	so.pipeline.limits.memory += r->sessions * plan_clients(r->plan) * CLIENT_BYTES;
	r->loop = loop_new(&em);
	r->cap = r->loop ? selfcap_new(r->loop, &so, &em) : NULL;
	if (r->cap == NULL) {
		complain("mcpdiag replay: %s", em.text);
	} else {
		r->player.url = r->target.url;
		r->player.headers = r->target.headers;
		r->player.n_headers = r->target.n_headers;
		r->player.client = r->target.client;
		r->player.client.witness = selfcap_witness(r->cap);
		rc = play(r);
		if (rc == 0)
			rc = report(r, o);
	}
	for (uint64_t i = 0; r->players && i < r->sessions; i++) {
		player_free(r->players[i]);
		standin_free(r->standins[i]);
	}
	free(r->players);
	free(r->standins);
	close_pools(r);
	selfcap_free(r->cap);
	loop_free(r->loop);
	return rc;
}

static int
start(struct run *r)
{
	struct output o = { .fd = -1 };
	struct errmsg em;
	int rc = known_read(&r->known);

	if (rc == 0)
		rc = expect_read(&r->expect);
	if (rc == 0)
		rc = make_plan(r);
	if (rc != 0)
		return rc;
	rc = output_open(&o, r->output, r->files, r->n_files, &em);
	if (rc != 0) {
		complain("mcpdiag replay: -o %s", em.text);
		rc = rc == -E_USAGE ? STATUS_USAGE : STATUS_ENVIRONMENT;
	} else if (r->dry_run) {
		replay_show_plan(&o.out, r->plan);
		rc = output_done(&o, &em);
		if (rc < 0)
			complain("mcpdiag replay: %s", em.text);
		rc = rc < 0 ? STATUS_ENVIRONMENT : rc > 0 ? STATUS_PIPE : STATUS_CLEAN;
	} else {
		rc = replay(r, &o);
	}
	output_fini(&o);
	return rc;
}

static int
run_replay(const struct command *cmd, int argc, char **argv)
{
	struct run r = { .cmd = cmd, .fail = true, .fail_on = SEV_ERROR, .sessions = 1 };
	int operand, rc;

	limits_init(&r.pipe.limits);
	player_opts_init(&r.player);
	target_init(&r.target);
	r.plan = plan_new();
	rc = opts_each(cmd, argc, argv, set, &r, &operand);
	if (rc == 0)
		rc = set_operands(&r, argv + operand, argc - operand);
	if (rc == 0)
		rc = start(&r);
	known_fini(&r.known);
	expect_fini(&r.expect);
	pipeline_free(r.captured);
	plan_free(r.plan);
	where_free(r.where);
	target_fini(&r.target);
	free(r.files);
	return rc == OPT_DONE ? STATUS_CLEAN : rc;
}

const struct command cmd_replay = {
	.name = "replay",
	.synopsis = "[options] CAPTURE... URL",
	.summary = "Plays captured clients against a server, and judges what they see.",
	.statuses = "0 nothing found, 1 a fault, 2 usage, 3 capture unusable,\n"
	    "  4 environment, 5 no MCP server there, 6 cannot tell",
	.opts = options,
	.examples = examples,
	.run = run_replay,
};
