#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "complain.h"
#include "mcpdiag/capsynth.h"
#include "mcpdiag/mcpd.h"
#include "mcpdiag/ndjson.h"
#include "mcpdiag/xmem.h"
#include "opts.h"
#include "output.h"
#include "tell.h"
#include "value.h"

#define MAX_RETRY_MS 86400000
#define MAX_SECONDS 86400

enum {
	O_PORT = OPT_OWN, O_HOST, O_ALLOW_HOST, O_POLICY, O_PRIMING, O_ERRORS,
	O_RETRY, O_KEEPALIVE, O_EMIT, O_CAP, O_REPLAY, O_FAULT, O_JSON, O_LEGACY,
	O_CONFORMANCE, O_EVENTS, O_PCAP, O_VERBOSE, O_SHOW_SECRETS, O_LIST,
};

static const struct opt options[] = {
	{ O_PORT, 0, "port", "N", "port to listen on (3000); 0: any free one" },
	{ O_HOST, 0, "host", "ADDRESS", "address to bind (127.0.0.1 and ::1)" },
	{ O_ALLOW_HOST, 0, "allow-host", "NAME",
	  "a name to be called by, and of pages that may call; *: any" },
	{ O_POLICY, 0, "policy", "NAME", "who owns the common channel (shadow-promote)" },
	{ O_FAULT, 0, "fault", "NAME[=N]", "misbehave so; may be repeated" },
	{ O_LIST, 0, "list", NULL, "list the policies and the faults" },
	{ O_PRIMING, 0, "post-priming", "KIND",
	  "ids that begin a POST's stream: bare or scoped" },
	{ O_REPLAY, 0, "replay", "KIND", "inclusive or exclusive of Last-Event-ID" },
	{ O_RETRY, 0, "retry", "MS", "when clients are told to come back (3000)" },
	{ O_KEEPALIVE, 0, "keepalive", "SECONDS",
	  "between comments on idle streams (15); 0: none" },
	{ O_EMIT, 0, "emit", "SECONDS[xN]",
	  "say list_changed in each session that often, N times" },
	{ O_CAP, 0, "cap", "N", "shadows that a session may have (32)" },
	{ O_ERRORS, 0, "session-errors", "401|404", "status for an unknown session (404)" },
	{ O_JSON, 0, "json", NULL, "answer with JSON where no stream is needed" },
	{ O_LEGACY, 0, "legacy", NULL, "HTTP+SSE of 2024-11-05 at /sse, too" },
	{ O_CONFORMANCE, 0, "conformance", NULL,
	  "what the official conformance suite wants to find" },
	{ O_EVENTS, 0, "events", "FILE", "write what the server does; - is stdout" },
	{ O_PCAP, 0, "pcap", "FILE", "write its traffic as a capture" },
	{ O_VERBOSE, 'v', "verbose", NULL, "a line on stderr for whatever happens" },
	{ O_SHOW_SECRETS, 0, "show-secrets", NULL, "session ids and tokens as they are" },
	OPTS_STANDARD,
	{ 0 },
};

static const char *const examples[] = {
	"mcpdiag serve", "the reference server, at http://127.0.0.1:3000/mcp",
	"mcpdiag serve --policy replace --events e.ndjson", "the leapfrog, with a record of it",
	"mcpdiag serve --fault idle-cut=60 --fault no-keepalive", "an impatient proxy",
	NULL,
};

struct run {
	const struct command *cmd;
	struct loop *loop;
	struct mcpd_opts o;
	struct mcpd *server;
	enum chan_policy policy;
	/* Set after the policy, whose own values they replace. */
	const char *priming, *replay;
	int64_t retry_ms;
	uint64_t cap;
	const char **hosts;
	uint32_t n_hosts, cap_hosts;
	const char *events, *pcap;
	bool verbose;
	struct output out;
	struct ndjson *ndjson;
	struct capwrite *file;
	struct capsynth *synth;
	bool file_failed;
};

static int
usage(const char *option, const char *value, const char *want)
{
	return value_bad("serve", option, value, want);
}

/* One of two words. */
static int
either(const char *option, const char *arg, const char *a, const char *b,
    const char **out)
{
	char text[64];

	*out = arg;
	if (strcmp(arg, a) == 0 || strcmp(arg, b) == 0)
		return 0;
	(void)snprintf(text, sizeof text, "it is %s or %s", a, b);
	return usage(option, arg, text);
}

static void
allow_host(struct run *r, const char *name)
{
	r->hosts = xgrow(r->hosts, r->n_hosts, &r->cap_hosts, sizeof *r->hosts);
	r->hosts[r->n_hosts++] = name;
}

static int
set_policy(struct run *r, const char *arg)
{
	const char *near = opts_nearest(arg, chan_policy_names);
	char text[96];

	for (int i = 0; i < CHAN_N_POLICIES; i++)
		if (strcmp(arg, chan_policy_names[i]) == 0) {
			r->policy = (enum chan_policy)i;
			return 0;
		}
	(void)snprintf(text, sizeof text, near ? "no such policy; did you mean %s?" :
	    "no such policy; `mcpdiag serve --list` has them", near ? near : "");
	return usage("--policy", arg, text);
}

static int
set_fault(struct run *r, const char *arg)
{
	const char *names[FAULT_N + 1] = { 0 }, *near;
	struct fault_row row;
	struct errmsg em;
	char word[64], text[sizeof em.text + 64];

	if (fault_set(&r->o.faults, str_c(arg), &em) == 0)
		return 0;
	for (unsigned i = 0; fault_row(i, &row); i++)
		names[i] = row.name;
	(void)snprintf(word, sizeof word, "%.*s", (int)strcspn(arg, "="), arg);
	near = opts_nearest(word, names);
	if (near && strcmp(near, word) != 0)
		(void)snprintf(text, sizeof text, "%s; did you mean %s?", em.text, near);
	else
		(void)snprintf(text, sizeof text, "%s; `mcpdiag serve --list` has them",
		    em.text);
	return usage("--fault", arg, text);
}

static void
list(void)
{
	struct fault_row row;

	printf("policies\n");
	for (int i = 0; i < CHAN_N_POLICIES; i++)
		printf("  %s\n", chan_policy_names[i]);
	printf("\nfaults, and the detector that names each\n");
	for (unsigned i = 0; fault_row(i, &row); i++) {
		char left[64];

		(void)snprintf(left, sizeof left, "%s%s%s", row.name,
		    row.value ? "=" : "", row.value ? row.value : "");
		printf("  %-26s %-26s %s\n", left, row.detector, row.what);
	}
}

static int
seconds(const char *option, struct str arg, ns_t *out)
{
	uint64_t ms;
	char text[64];

	if (str_milli(arg, &ms) && ms <= MAX_SECONDS * 1000) {
		*out = (ns_t)ms * NS_MS;
		return 0;
	}
	(void)snprintf(text, sizeof text, "give seconds from 0 to %d, such as 0.5",
	    MAX_SECONDS);
	return usage(option, arg.p, text);
}

/* "2.5" or "2.5x3" */
static int
set_emit(struct run *r, struct str arg)
{
	size_t x = str_find(arg, STR("x"));
	uint64_t n = 0;

	if (x < arg.n && (!str_u64(str_of(arg.p + x + 1, arg.n - x - 1), &n) || n == 0 ||
	    n > UINT32_MAX))
		return usage("--emit", arg.p, "behind the x give a number, how many times");
	r->o.emissions = (uint32_t)n;
	return seconds("--emit", str_of(arg.p, x < arg.n ? x : arg.n), &r->o.emit);
}

static int
set(void *run, int id, const char *arg)
{
	struct run *r = run;
	const char *word;
	uint64_t n = 0;
	int rc = 0;

	switch (id) {
	case O_LIST:
		list();
		return OPT_DONE;
	case O_PORT:
		rc = value_number("serve", "--port", arg, 0, UINT16_MAX, &n);
		r->o.http.port = (uint16_t)n;
		break;
	case O_HOST:
		r->o.http.host = arg;
		break;
	case O_ALLOW_HOST:
		allow_host(r, arg);
		break;
	case O_POLICY:
		return set_policy(r, arg);
	case O_FAULT:
		return set_fault(r, arg);
	case O_PRIMING:
		return either("--post-priming", arg, "bare", "scoped", &r->priming);
	case O_REPLAY:
		return either("--replay", arg, "inclusive", "exclusive", &r->replay);
	case O_RETRY:
		rc = value_number("serve", "--retry", arg, 0, MAX_RETRY_MS, &n);
		r->retry_ms = (int64_t)n;
		break;
	case O_KEEPALIVE:
		return seconds("--keepalive", str_c(arg), &r->o.keepalive);
	case O_EMIT:
		return set_emit(r, str_c(arg));
	case O_CAP:
		rc = value_number("serve", "--cap", arg, 0, 1000, &r->cap);
		break;
	case O_ERRORS:
		rc = either("--session-errors", arg, "401", "404", &word);
		r->o.lost_session_401 = strcmp(word, "401") == 0;
		break;
	case O_JSON:
		r->o.json = true;
		break;
	case O_LEGACY:
		r->o.legacy = true;
		break;
	case O_CONFORMANCE:
		r->o.conformance = true;
		break;
	case O_EVENTS:
		r->events = arg;
		break;
	case O_PCAP:
		r->pcap = arg;
		break;
	case O_VERBOSE:
		r->verbose = true;
		break;
	case O_SHOW_SECRETS:
		r->o.show_secrets = true;
		break;
	}
	return rc;
}

static int
parse(struct run *r, int argc, char **argv)
{
	int operand, rc = opts_each(r->cmd, argc, argv, set, r, &operand);

	if (rc != 0)
		return rc;
	if (operand < argc) {
		complain("mcpdiag serve: %s: takes no operands; --port N chooses the port",
		    argv[operand]);
		return STATUS_USAGE;
	}
	return 0;
}

/* ---- what happened ---- */

static void
on_event(void *arg, const struct ev *e)
{
	struct run *r = arg;

	if (r->ndjson)
		ndjson_event(r->ndjson, e);
	if (r->verbose)
		tell_event(stderr, TELL_ALL, e);
}

static void
synth_failed(struct run *r)
{
	if (!r->file_failed)
		complain("mcpdiag serve: %s: %s; no more is written there", r->pcap,
		    capwrite_error(r->file));
	r->file_failed = true;
}

static void
on_opened(void *arg, uint32_t conn, const char *client, const char *server)
{
	struct run *r = arg;

	if (r->synth && capsynth_open(r->synth, conn, client, server,
	    loop_now(r->loop)) == -E_IO)
		synth_failed(r);
}

static void
on_bytes(void *arg, uint32_t conn, bool response, const void *p, size_t n)
{
	struct run *r = arg;

	if (r->synth && capsynth_data(r->synth, conn, response, p, n,
	    loop_now(r->loop)) == -E_IO)
		synth_failed(r);
}

static void
on_closed(void *arg, uint32_t conn, bool by_client, bool reset)
{
	struct run *r = arg;

	if (r->synth && capsynth_close(r->synth, conn, by_client, reset,
	    loop_now(r->loop)) == -E_IO)
		synth_failed(r);
}

static int
open_records(struct run *r)
{
	struct capwrite_opts co = { .linktype = CAPSYNTH_LINKTYPE,
		.application = "mcpdiag serve " MCPDIAG_VERSION,
		.comment = CAPSYNTH_COMMENT };
	struct errmsg em;

	if (r->events) {
		if (output_open(&r->out, r->events, NULL, 0, &em) != 0) {
			complain("mcpdiag serve: %s", em.text);
			return STATUS_ENVIRONMENT;
		}
		r->out.out.lines = true;
		r->ndjson = ndjson_new(&r->out.out);
	}
	if (r->pcap) {
		r->file = capwrite_new(r->pcap, &co, &em);
		if (r->file == NULL) {
			complain("mcpdiag serve: %s", em.text);
			return STATUS_ENVIRONMENT;
		}
		r->synth = capsynth_new(r->file, 65536);
		r->o.opened = on_opened;
		r->o.bytes = on_bytes;
		r->o.closed = on_closed;
	}
	if (r->events || r->verbose)
		r->o.event = on_event;
	r->o.arg = r;
	return 0;
}

static int
close_records(struct run *r)
{
	struct errmsg em;
	int rc = 0;

	if (r->events && output_done(&r->out, &em) < 0) {
		complain("mcpdiag serve: %s", em.text);
		rc = STATUS_ENVIRONMENT;
	}
	if (r->file && capwrite_flush(r->file) != 0)
		synth_failed(r);
	ndjson_free(r->ndjson);
	if (r->events)
		output_fini(&r->out);
	capsynth_free(r->synth);
	capwrite_free(r->file);
	return r->file_failed ? STATUS_ENVIRONMENT : rc;
}

/* ---- the server ---- */

static void
on_stopped(void *arg)
{
	loop_stop(arg);
}

static void
on_signal(void *arg, int sig)
{
	struct run *r = arg;

	if (sig == SIGUSR1) {
		mcpd_emit(r->server);
		return;
	}
	/* The second one ends the program at once. */
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
	mcpd_shutdown(r->server, on_stopped, r->loop);
}

static int
catch_signals(struct run *r)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGUSR1 };
	struct errmsg em;

	(void)signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		if (loop_signal(r->loop, signals[i], on_signal, r, &em) != 0) {
			complain("mcpdiag serve: %s", em.text);
			return STATUS_ENVIRONMENT;
		}
	return 0;
}

static bool
any_address(const char *host)
{
	return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0 ||
	    strcmp(host, "[::]") == 0;
}

static void
settle(struct run *r)
{
	struct mcpd_opts o;

	mcpd_opts_init(&o, r->policy);
	r->o.channel = o.channel;
	if (r->priming)
		r->o.channel.scoped = strcmp(r->priming, "scoped") == 0;
	if (r->replay)
		r->o.channel.inclusive = strcmp(r->replay, "inclusive") == 0;
	if (r->retry_ms >= 0)
		r->o.channel.retry_ms = r->retry_ms;
	if (r->cap != UINT64_MAX)
		r->o.channel.cap = (uint32_t)r->cap;
	if (r->o.http.host && !any_address(r->o.http.host))
		allow_host(r, r->o.http.host);
	else if (r->o.http.host && r->n_hosts == 0)
		complain("mcpdiag serve: note: only requests to localhost are accepted; "
		    "--allow-host NAME adds the name that clients use");
	if (r->n_hosts > 0) {
		allow_host(r, NULL);
		r->o.hosts = r->hosts;
	}
}

static int
serve(struct run *r)
{
	bool quiet = r->events && strcmp(r->events, "-") == 0;
	struct errmsg em;
	int rc;

	r->server = mcpd_new(r->loop, &r->o, &em);
	if (r->server == NULL) {
		complain("mcpdiag serve: %s", em.text);
		return STATUS_ENVIRONMENT;
	}
	rc = catch_signals(r);
	if (rc == 0) {
		/* stdout is the events' when they go there. */
		fprintf(quiet ? stderr : stdout, "listening on %s\n", mcpd_url(r->server));
		if (r->o.legacy)
			fprintf(quiet ? stderr : stdout, "HTTP+SSE at %.*s/sse\n",
			    (int)(strlen(mcpd_url(r->server)) - 4), mcpd_url(r->server));
		(void)fflush(stdout);
		loop_run(r->loop);
	}
	mcpd_free(r->server);
	return rc;
}

static int
run(const struct command *cmd, int argc, char **argv)
{
	struct run r = { .cmd = cmd, .policy = CHAN_SHADOW_PROMOTE, .retry_ms = -1,
		.cap = UINT64_MAX };
	struct errmsg em;
	int rc, rc2;

	/* It runs for long, and a slow reader may cost it megabytes. */
	xmem_give_back();
	mcpd_opts_init(&r.o, r.policy);
	r.o.http.port = 3000;
	rc = parse(&r, argc, argv);
	if (rc != 0)
		goto out;
	settle(&r);
	r.loop = loop_new(&em);
	if (r.loop == NULL) {
		complain("mcpdiag serve: %s", em.text);
		rc = STATUS_ENVIRONMENT;
		goto out;
	}
	rc = open_records(&r);
	if (rc == 0)
		rc = serve(&r);
	rc2 = close_records(&r);
	rc = rc ? rc : rc2;
	loop_free(r.loop);
out:
	free(r.hosts);
	return rc == OPT_DONE ? STATUS_CLEAN : rc;
}

const struct command cmd_serve = {
	.name = "serve",
	.synopsis = "[options]",
	.summary = "Runs a reference MCP server that shows a fault, or its cure.",
	.statuses = "0 stopped by a signal, 2 usage, 4 environment (port, file)",
	.opts = options,
	.examples = examples,
	.run = run,
};
