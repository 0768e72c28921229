#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "complain.h"
#include "mcpdiag/crowd.h"
#include "mcpdiag/json.h"
#include "mcpdiag/probe.h"
#include "mcpdiag/timeline.h"
#include "mcpdiag/xmem.h"
#include "opts.h"
#include "output.h"
#include "probe_out.h"
#include "report.h"
#include "selfcap.h"
#include "target.h"
#include "value.h"

#define MAX_SECONDS 86400
#define DURATION (10 * NS_S)
#define CROWD "listeners"	/* its name among the scenarios */

enum {
	O_EMIT_TOOL = OPT_OWN, O_IDLE, O_ONLY, O_CLIENT, O_LISTENERS, O_DURATION, O_WRITE,
	O_FORMAT, O_OUTPUT, O_FAIL_ON, O_COLOR, O_LIST_SCENARIOS,
};

static const struct opt options[] = {
	{ O_EMIT_TOOL, 0, "emit-tool", "NAME[=JSON]",
	  "a tool whose call makes the server emit; it is called very often" },
	{ O_ONLY, 0, "only", "SCENARIO,...", "only these" },
	{ O_LIST_SCENARIOS, 0, "list", NULL, "list the scenarios and the clients" },
	{ O_IDLE, 0, "idle", "SECONDS", "leave a stream idle for so long, too" },
	{ O_LISTENERS, 0, "listeners", "K", "of one session, left alone for a while (2)" },
	{ O_DURATION, 0, "duration", "SECONDS", "so long (10)" },
	{ O_CLIENT, 0, "client", "NAME", "they are that client (eventsource); --list has them" },
	TARGET_OPTS,
	{ O_WRITE, 'w', "write", "FILE", "write what was exchanged as a capture" },
	{ O_FORMAT, 'T', "format", "FORMAT", "text (default) or json" },
	{ O_OUTPUT, 'o', "output", "FILE", "write there instead of stdout" },
	{ O_FAIL_ON, 0, "fail-on", "LEVEL", "exit 1 from: warning, error (default), none" },
	{ O_COLOR, 0, "color", "WHEN", "auto (default), always or never" },
	OPTS_STANDARD,
	{ 0 },
};

static const char *const examples[] = {
	"mcpdiag probe http://127.0.0.1:3000/mcp", "what does it do that suites do not ask",
	"mcpdiag probe --emit-tool poke URL", "and who gets the messages",
	"mcpdiag probe --only two-gets,resume -T json URL", "two scenarios, for a program",
	NULL,
};

struct run {
	const struct command *cmd;
	struct loop *loop;
	struct probe *probe;
	struct probe_opts o;
	struct crowd *crowd;		/* while it is there */
	struct crowd_opts c;
	struct probe_report report;
	bool crowded;			/* it is wanted */
	struct selfcap *cap;
	struct target target;
	char *tool;
	const char *path, *color, *write;
	bool json, fail, warnings, probed, stopped;
};

static int
usage(const char *option, const char *value, const char *want)
{
	return value_bad("probe", option, value, want);
}

static void
list(void)
{
	printf("scenarios\n");
	for (unsigned id = PROBE_HANDSHAKE + 1; id < PROBE_N; id++)
		printf("  %-18s %s\n", probe_name(id), probe_title(id));
	printf("  %-18s listeners of one session, left alone for a while\n\nclients\n", CROWD);
	for (unsigned i = 0; clients_row(i); i++)
		printf("  %-18s %s\n", clients_row(i)->name, clients_row(i)->title);
}

static int
set_only(struct run *r, const char *arg)
{
	const char *names[PROBE_N + 1], *near;
	char word[64], text[128];
	unsigned n = 0;

	for (unsigned id = PROBE_HANDSHAKE + 1; id < PROBE_N; id++)
		names[n++] = probe_name(id);
	names[n++] = CROWD;
	names[n] = NULL;
	if (r->o.only == UINT64_MAX) {
		r->o.only = 0;
		r->crowded = false;
	}
	for (const char *p = arg;; p++) {
		size_t len = strcspn(p, ",");
		unsigned i = 0;

		(void)snprintf(word, sizeof word, "%.*s", (int)(len < 60 ? len : 60), p);
		while (i < n && strcmp(names[i], word) != 0)
			i++;
		if (i == n) {
			near = opts_nearest(word, names);
			(void)snprintf(text, sizeof text, near ? "no such scenario; did you "
			    "mean %s?" : "no such scenario; --list has them", near ? near : "");
			return usage("--only", word, text);
		}
		if (i + 1 == n)
			r->crowded = true;
		else
			r->o.only |= UINT64_C(1) << (PROBE_HANDSHAKE + 1 + i);
		p += len;
		if (*p == '\0')
			return 0;
	}
}

/* Whether a word of the user's is one JSON object. */
static bool
is_object(const char *s)
{
	static const struct json_cb cb = { .value = NULL };
	struct json *j = json_new(&cb, NULL, NULL, 0, 64, 16);
	bool good = *s == '{' && json_feed(j, s, strlen(s)) == 0 && json_eof(j) == 0;

	json_free(j);
	return good;
}

static int
set_tool(struct run *r, const char *arg)
{
	char *eq;

	free(r->tool);
	r->tool = xmemdup0(arg, strlen(arg));
	eq = strchr(r->tool, '=');
	if (eq)
		*eq++ = '\0';
	if (*r->tool == '\0')
		return usage("--emit-tool", arg, "give the name of a tool");
	if (eq && !is_object(eq))
		return usage("--emit-tool", arg, "the arguments are a JSON object");
	r->o.emit_tool = r->tool;
	r->o.emit_args = eq;
	return 0;
}

static int
set_client(struct run *r, const char *arg)
{
	const char *names[32], *near;
	char text[96];
	unsigned n = 0;

	r->c.client = clients_find(arg);
	if (r->c.client)
		return 0;
	for (; n < 31 && clients_row(n); n++)
		names[n] = clients_row(n)->name;
	names[n] = NULL;
	near = opts_nearest(arg, names);
	(void)snprintf(text, sizeof text, near ? "no such client; did you mean %s?" :
	    "no such client; --list has them", near ? near : "");
	return usage("--client", arg, text);
}

static int
set_format(struct run *r, const char *arg)
{
	r->json = strcmp(arg, "json") == 0;
	if (r->json || strcmp(arg, "text") == 0)
		return 0;
	return usage("--format", arg, "it is text or json");
}

static int
set_fail_on(struct run *r, const char *arg)
{
	r->warnings = strcmp(arg, "warning") == 0;
	r->fail = strcmp(arg, "none") != 0;
	if (!r->fail || r->warnings || strcmp(arg, "error") == 0)
		return 0;
	return usage("--fail-on", arg, "it is warning, error or none");
}

static int
set(void *run, int id, const char *arg)
{
	struct run *r = run;
	uint64_t n = 0;
	int rc = 0;

	switch (id) {
	case O_LIST_SCENARIOS:
		list();
		return OPT_DONE;
	case O_EMIT_TOOL:
		return set_tool(r, arg);
	case O_IDLE:
		rc = value_number("probe", "--idle", arg, 1, MAX_SECONDS, &n);
		r->o.idle = (ns_t)n * NS_S;
		break;
	case O_LISTENERS:
		rc = value_number("probe", "--listeners", arg, 1, CROWD_MAX, &n);
		r->c.listeners = (unsigned)n;
		break;
	case O_DURATION:
		rc = value_number("probe", "--duration", arg, 1, MAX_SECONDS, &n);
		r->c.duration = (ns_t)n * NS_S;
		break;
	case O_CLIENT:
		return set_client(r, arg);
	case O_ONLY:
		return set_only(r, arg);
	case O_WRITE:
		r->write = arg;
		break;
	case O_FORMAT:
		return set_format(r, arg);
	case O_OUTPUT:
		r->path = arg;
		break;
	case O_FAIL_ON:
		return set_fail_on(r, arg);
	case O_COLOR:
		return value_color("probe", arg, &r->color);
	default:
		return target_set(&r->target, "probe", id, arg);
	}
	return rc;
}

static int
parse(struct run *r, int argc, char **argv)
{
	int operand, rc = opts_each(r->cmd, argc, argv, set, r, &operand);

	if (rc != 0)
		return rc;
	if (argc - operand != 1) {
		complain("mcpdiag probe: give one URL, that of the MCP endpoint: "
		    "http://127.0.0.1:3000/mcp");
		return STATUS_USAGE;
	}
	return target_url(&r->target, "probe", argv[operand]);
}

/* ---- the run ---- */

/* Both are over. */
static void
look(struct run *r)
{
	if (r->probed && (r->crowd == NULL || crowd_seen(r->crowd)->over))
		loop_stop(r->loop);
}

static void
on_crowd(void *arg)
{
	look(arg);
}

static void
begin_crowd(struct run *r)
{
	struct errmsg em;

	r->c.url = r->target.url;
	r->c.headers = r->target.headers;
	r->c.n_headers = r->target.n_headers;
	r->c.tool = r->o.emit_tool;
	r->c.args = r->o.emit_args;
	r->c.http = r->o.client;
	/* Who is no EventSource has one stream only. */
	if (r->c.listeners == 0)
		r->c.listeners = r->c.client->all ? 2 : 1;
	r->crowd = crowd_new(r->loop, &r->c, on_crowd, r, &em);
	if (r->crowd)
		crowd_start(r->crowd);
}

static void
on_each(void *arg, enum probe_id id)
{
	struct run *r = arg;

	if (target_tells())
		fprintf(stderr, "\r\033[K%s", id + 1 < PROBE_N ? probe_name(id + 1) : "");
	if (id == PROBE_HANDSHAKE && r->crowded && !r->stopped &&
	    probe_server(r->probe)->legacy)
		begin_crowd(r);
}

static void
on_done(void *arg)
{
	struct run *r = arg;

	if (target_tells())
		fprintf(stderr, "\r\033[K%s", r->crowd ? CROWD : "");
	r->probed = true;
	look(r);
}

static void
on_signal(void *arg, int sig)
{
	struct run *r = arg;

	/* The second one ends the program at once. */
	(void)signal(sig, SIG_DFL);
	r->stopped = true;
	probe_stop(r->probe);
	if (r->crowd)
		crowd_stop(r->crowd);
}

/* A sentence on why there is nothing to probe. */
static void
unreachable(const struct run *r)
{
	const struct probe_server *v = probe_server(r->probe);
	const char *url = r->target.url;

	if (v->status == 0 && *v->why)
		complain("mcpdiag probe: %s: %s", url, v->why);
	else if (v->status == 0)
		complain("mcpdiag probe: %s: no answer to initialize within %lld s", url,
		    (long long)(r->o.answer / NS_S));
	else if (v->status == 401 || v->status == 403)
		complain("mcpdiag probe: %s: %u, it wants authorization; --bearer-file FILE or "
		    "--bearer-env NAME has the token", url, v->status);
	else if (v->status / 100 == 3)
		complain("mcpdiag probe: %s: %u, it is at %s; redirects are not followed", url,
		    v->status, *v->location ? v->location : "(no Location)");
	else if (v->status == 200)
		complain("mcpdiag probe: %s: initialize is answered with %s, not as MCP: "
		    "is that the endpoint?", url, *v->type ? v->type : "no Content-Type");
	else
		complain("mcpdiag probe: %s: initialize is answered %u: is that the endpoint?",
		    url, v->status);
}

static int
report(struct run *r)
{
	struct output o;
	struct errmsg em;
	int rc;

	if (output_open(&o, r->path, NULL, 0, &em) != 0) {
		complain("mcpdiag probe: %s", em.text);
		return STATUS_ENVIRONMENT;
	}
	r->report.color = report_color(r->color, &o);
	r->report.width = report_width(&o);
	if (r->json)
		probe_out_json(&o.out, &r->report);
	else
		probe_out_text(&o.out, &r->report);
	rc = output_done(&o, &em);
	output_fini(&o);
	if (rc < 0) {
		complain("mcpdiag probe: %s", em.text);
		return STATUS_ENVIRONMENT;
	}
	if (rc > 0)
		return STATUS_PIPE;
	return r->fail && (probe_out_count(&r->report, PROBE_FAULT) > 0 || (r->warnings &&
	    probe_out_count(&r->report, PROBE_WARNING) > 0)) ? STATUS_FOUND : STATUS_CLEAN;
}

/* What the listeners saw, and what the rules say to it: theirs is the session
 * of a client; those of the scenarios are strange on purpose. */
static int
conclude(struct run *r)
{
	struct errmsg em;

	r->report.probe = r->probe;
	r->report.url = r->target.url;
	r->report.crowded = r->crowd != NULL;
	r->report.client = r->c.client->name;
	r->report.duration = r->c.duration;
	if (r->crowd)
		r->report.crowd = *crowd_seen(r->crowd);
	/* Its connections are closed before the record is. */
	crowd_free(r->crowd);
	r->crowd = NULL;
	if (selfcap_end(r->cap, &em) < 0) {
		complain("mcpdiag probe: %s", em.text);
		return STATUS_ENVIRONMENT;
	}
	r->report.timeline = pipeline_timeline(selfcap_pipeline(r->cap));
	return 0;
}

static int
probe(struct run *r)
{
	struct selfcap_opts so = { .file = r->write,
		.application = "mcpdiag probe " MCPDIAG_VERSION };
	struct errmsg em = { "" };
	int rc = STATUS_ENVIRONMENT;

	(void)signal(SIGPIPE, SIG_IGN);
	limits_init(&so.pipeline.limits);
	r->loop = loop_new(&em);
	r->cap = r->loop ? selfcap_new(r->loop, &so, &em) : NULL;
	r->o.url = r->target.url;
	r->o.headers = r->target.headers;
	r->o.n_headers = r->target.n_headers;
	r->o.client = r->target.client;
	if (r->cap) {
		r->o.client.witness = selfcap_witness(r->cap);
		r->probe = probe_new(r->loop, &r->o, on_each, on_done, r, &em);
	}
	if (r->probe == NULL || loop_signal(r->loop, SIGINT, on_signal, r, &em) != 0 ||
	    loop_signal(r->loop, SIGTERM, on_signal, r, &em) != 0) {
		complain("mcpdiag probe: %s", em.text);
	} else {
		probe_start(r->probe);
		loop_run(r->loop);
		rc = conclude(r);
		if (rc == 0 && !probe_server(r->probe)->reached) {
			unreachable(r);
			rc = STATUS_TARGET;
		} else if (rc == 0) {
			rc = report(r);
		}
	}
	crowd_free(r->crowd);
	probe_free(r->probe);
	selfcap_free(r->cap);
	loop_free(r->loop);
	return rc;
}

static int
run(const struct command *cmd, int argc, char **argv)
{
	struct run r = { .cmd = cmd, .fail = true, .crowded = true };
	int rc;

	probe_opts_init(&r.o);
	target_init(&r.target);
	r.c.client = clients_find("eventsource");
	r.c.duration = DURATION;
	rc = parse(&r, argc, argv);
	if (rc == 0)
		rc = probe(&r);
	target_fini(&r.target);
	free(r.tool);
	return rc == OPT_DONE ? STATUS_CLEAN : rc;
}

const struct command cmd_probe = {
	.name = "probe",
	.synopsis = "[options] URL",
	.summary = "Tries a server out: second GETs, resumes, dead sessions.",
	.statuses = "0 no fault, 1 a fault, 2 usage, 4 environment, 5 no MCP server\n"
	    "  reached",
	.opts = options,
	.examples = examples,
	.run = run,
};
