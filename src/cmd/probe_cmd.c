#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "complain.h"
#include "mcpdiag/probe.h"
#include "mcpdiag/xmem.h"
#include "opts.h"
#include "output.h"
#include "probe_out.h"
#include "report.h"
#include "target.h"

#define MAX_IDLE 86400

enum {
	O_HEADER = OPT_OWN, O_INSECURE, O_TOKEN_FILE, O_EMIT_TOOL, O_IDLE, O_ONLY, O_FORMAT,
	O_OUTPUT, O_FAIL_ON, O_COLOR, O_LIST_SCENARIOS,
};

static const struct opt options[] = {
	{ O_EMIT_TOOL, 0, "emit-tool", "NAME[=JSON]",
	  "a tool whose call makes the server emit; it is called often" },
	{ O_ONLY, 0, "only", "SCENARIO,...", "only these" },
	{ O_LIST_SCENARIOS, 0, "list", NULL, "list the scenarios" },
	{ O_IDLE, 0, "idle", "SECONDS", "leave a stream idle for so long, too" },
	{ O_HEADER, 'H', "header", "'NAME: VALUE'", "a header of each request; @FILE: its lines" },
	{ O_TOKEN_FILE, 0, "token-file", "FILE", "a bearer token; else MCPDIAG_TOKEN" },
	{ O_INSECURE, 'k', "insecure", NULL, "any TLS certificate will do" },
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
	struct target target;
	char *tool;
	const char *path, *color;
	bool json, fail, warnings;
};

static int
usage(const char *option, const char *value, const char *want)
{
	complain("mcpdiag probe: %s %s: %s", option, value, want);
	return STATUS_USAGE;
}

static void
list(void)
{
	for (unsigned id = PROBE_HANDSHAKE + 1; id < PROBE_N; id++)
		printf("%-18s %s\n", probe_name(id), probe_title(id));
}

static int
set_only(struct run *r, const char *arg)
{
	const char *names[PROBE_N], *near;
	char word[64], text[128];
	unsigned n = 0;

	for (unsigned id = PROBE_HANDSHAKE + 1; id < PROBE_N; id++)
		names[n++] = probe_name(id);
	names[n] = NULL;
	if (r->o.only == UINT64_MAX)
		r->o.only = 0;
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
		r->o.only |= UINT64_C(1) << (PROBE_HANDSHAKE + 1 + i);
		p += len;
		if (*p == '\0')
			return 0;
	}
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
	if (eq && *eq != '{')
		return usage("--emit-tool", arg, "the arguments are a JSON object");
	r->o.emit_tool = r->tool;
	r->o.emit_args = eq;
	return 0;
}

static int
set(struct run *r, int id, const char *arg)
{
	uint64_t n;

	switch (id) {
	case O_HEADER:
		return target_header(&r->target, "probe", arg);
	case O_TOKEN_FILE:
		return target_token_file(&r->target, "probe", arg);
	case O_INSECURE:
		r->o.client.insecure = true;
		break;
	case O_EMIT_TOOL:
		return set_tool(r, arg);
	case O_IDLE:
		if (!str_u64(str_c(arg), &n) || n == 0 || n > MAX_IDLE)
			return usage("--idle", arg, "give seconds, 1 to 86400");
		r->o.idle = (ns_t)n * NS_S;
		break;
	case O_ONLY:
		return set_only(r, arg);
	case O_FORMAT:
		r->json = strcmp(arg, "json") == 0;
		if (!r->json && strcmp(arg, "text") != 0)
			return usage("--format", arg, "it is text or json");
		break;
	case O_OUTPUT:
		r->path = arg;
		break;
	case O_FAIL_ON:
		r->warnings = strcmp(arg, "warning") == 0;
		r->fail = strcmp(arg, "none") != 0;
		if (r->fail && !r->warnings && strcmp(arg, "error") != 0)
			return usage("--fail-on", arg, "it is warning, error or none");
		break;
	case O_COLOR:
		r->color = arg;
		if (strcmp(arg, "auto") != 0 && strcmp(arg, "always") != 0 &&
		    strcmp(arg, "never") != 0)
			return usage("--color", arg, "it is auto, always or never");
		break;
	}
	return 0;
}

static int
parse(struct run *r, int argc, char **argv)
{
	const char *arg;
	int operand = 1, id, rc = 0;

	while ((id = opts_next(r->cmd, argc, argv, &arg, &operand)) != OPT_END) {
		if (id == OPT_BAD)
			return STATUS_USAGE;
		if (id == OPT_DONE)
			return -1;
		if (id == O_LIST_SCENARIOS) {
			list();
			return -1;
		}
		rc = set(r, id, arg);
		if (rc != 0)
			return rc;
	}
	return target_url(&r->target, "probe", argc - operand, argv + operand);
}

/* ---- the run ---- */

static void
on_each(void *arg, enum probe_id id)
{
	const struct run *r = arg;

	if (target_tells())
		fprintf(stderr, "\r\033[K%s", id + 1 < PROBE_N ? probe_name(id + 1) : "");
	(void)r;
}

static void
on_done(void *arg)
{
	struct run *r = arg;

	if (target_tells())
		fprintf(stderr, "\r\033[K");
	loop_stop(r->loop);
}

static void
on_signal(void *arg, int sig)
{
	struct run *r = arg;

	/* The second one ends the program at once. */
	(void)signal(sig, SIG_DFL);
	probe_stop(r->probe);
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
		complain("mcpdiag probe: %s: %u, it wants authorization; --token-file FILE or "
		    "MCPDIAG_TOKEN has the bearer token", url, v->status);
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
	if (r->json)
		probe_out_json(&o.out, r->probe, r->target.url);
	else
		probe_out_text(&o.out, r->probe, r->target.url, report_color(r->color, &o),
		    report_width(&o));
	rc = output_done(&o, &em);
	output_fini(&o);
	if (rc < 0) {
		complain("mcpdiag probe: %s", em.text);
		return STATUS_ENVIRONMENT;
	}
	if (rc > 0)
		return STATUS_PIPE;
	return r->fail && (probe_out_count(r->probe, PROBE_FAULT) > 0 || (r->warnings &&
	    probe_out_count(r->probe, PROBE_WARNING) > 0)) ? STATUS_FOUND : STATUS_CLEAN;
}

static int
probe(struct run *r)
{
	struct errmsg em;
	int rc = STATUS_ENVIRONMENT;

	(void)signal(SIGPIPE, SIG_IGN);
	r->loop = loop_new(&em);
	if (r->loop == NULL)
		goto out;
	r->o.url = r->target.url;
	r->o.headers = r->target.headers;
	r->o.n_headers = r->target.n_headers;
	r->probe = probe_new(r->loop, &r->o, on_each, on_done, r, &em);
	if (r->probe == NULL || loop_signal(r->loop, SIGINT, on_signal, r, &em) != 0 ||
	    loop_signal(r->loop, SIGTERM, on_signal, r, &em) != 0)
		goto out;
	probe_start(r->probe);
	loop_run(r->loop);
	rc = STATUS_CLEAN;
	if (probe_server(r->probe)->reached) {
		rc = report(r);
	} else {
		unreachable(r);
		rc = STATUS_TARGET;
	}
out:
	if (rc == STATUS_ENVIRONMENT && r->probe == NULL)
		complain("mcpdiag probe: %s", em.text);
	probe_free(r->probe);
	loop_free(r->loop);
	return rc;
}

static int
run(const struct command *cmd, int argc, char **argv)
{
	struct run r = { .cmd = cmd, .fail = true };
	int rc;

	probe_opts_init(&r.o);
	rc = parse(&r, argc, argv);
	if (rc == 0)
		rc = target_token(&r.target, "probe");
	if (rc == 0)
		rc = probe(&r);
	target_fini(&r.target);
	free(r.tool);
	return rc < 0 ? STATUS_CLEAN : rc;
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
