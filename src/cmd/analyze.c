#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "complain.h"
#include "gate.h"
#include "input.h"
#include "known.h"
#include "mcpdiag/ndjson.h"
#include "mcpdiag/pipeline.h"
#include "mcpdiag/select.h"
#include "mcpdiag/sink.h"
#include "mcpdiag/xmem.h"
#include "opts.h"
#include "output.h"
#include "progress.h"
#include "report.h"
#include "value.h"

#define BATCH 128		/* packets looked at together */

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_NDJSON, FORMAT_JUNIT, FORMAT_MARKDOWN };

enum {
	O_FILTER = OPT_OWN, O_READ, O_FORMAT, O_OUTPUT, O_COUNT, O_QUIET,
	O_VERBOSE, O_LINES, O_NUMERIC, O_COLOR, O_FAIL_ON, O_REQUIRE_MCP,
	O_ALLOW_INCOMPLETE, O_LINT, O_LIMIT, O_SHOW_SECRETS, O_KEYLOG, O_DIVIDE,
	O_ONLY, O_IGNORE, O_WHERE, O_BASELINE, O_WRITE_BASELINE,
};

static const struct opt options[] = {
	{ O_READ, 'r', "read", "FILE", "a capture, or events; - is stdin; may be repeated" },
	{ O_FILTER, 'f', "filter", "BPF", "only packets that match, as in tcpdump" },
	{ O_WHERE, 'Y', "where", "EXPR", "show only what matches: 'session == ab'" },
	{ O_COUNT, 'c', "count", "N", "stop after N packets" },
	{ O_FORMAT, 'T', "format", "FORMAT", "text (default), json, ndjson, junit or markdown" },
	{ O_OUTPUT, 'o', "output", "FILE", "write there instead of stdout" },
	{ O_QUIET, 'q', "quiet", NULL, "findings only; -qq: exit status only" },
	{ O_VERBOSE, 'v', "verbose", NULL, "every stream, session and fact" },
	{ O_LINT, 0, "lint", NULL, "in text, remarks on the specification too" },
	{ O_LINES, 'l', "line-buffered", NULL, "flush after each line" },
	{ O_NUMERIC, 'n', "numeric", NULL, "no effect: names are never looked up" },
	{ O_COLOR, 0, "color", "WHEN", "auto (default), always or never" },
	{ O_FAIL_ON, 0, "fail-on", "LEVEL", "exit 1 from: info, warning, error (default), none" },
	{ O_ONLY, 0, "only", "DETECTOR,...", "findings of these only; DETECTOR/VARIANT too" },
	{ O_IGNORE, 0, "ignore", "DETECTOR,...", "no findings of these" },
	{ O_BASELINE, 0, "baseline", "FILE", "known findings: neither shown nor counted" },
	{ O_WRITE_BASELINE, 0, "write-baseline", "FILE", "write what is found as such a file" },
	{ O_REQUIRE_MCP, 0, "require-mcp", NULL, "exit 3 when there is no MCP" },
	{ O_ALLOW_INCOMPLETE, 0, "allow-incomplete", NULL, "exit 0 instead of 6" },
	{ O_SHOW_SECRETS, 0, "show-secrets", NULL, "session ids and tokens as they are" },
	{ O_LIMIT, 0, "limit", "NAME=VALUE", "set a limit: mcpdiag-analyze(1)" },
	{ O_KEYLOG, 0, "keylog", "FILE", "TLS keys; not used by this version yet" },
	{ O_DIVIDE, 0, "limits-divide", "N", NULL },
	OPTS_STANDARD,
	{ 0 },
};

static const char *const examples[] = {
	"mcpdiag analyze leapfrog.pcap", "what is wrong, and since which packet",
	"mcpdiag analyze -T json -o out.json *.pcap", "one document for a ring of files",
	"tcpdump -r big.pcap -w - | mcpdiag analyze -", "from a pipe",
	NULL,
};

struct run {
	const struct command *cmd;
	struct pipeline_opts pipe;
	enum format format;
	const char **files;
	unsigned n_files, cap_files;
	const char *filter, *output, *keylog;
	uint64_t count;			/* 0: all */
	int quiet, verbose;
	bool lines, lint, allow_incomplete, require_mcp, fail;
	enum severity fail_on;
	const char *color;
	unsigned divide;
	struct gate gate;
	struct known known;
	uint32_t n_stale;		/* entries of the baseline */
	struct where *where;		/* NULL: all is shown */
	struct select *select;
	struct pipeline *pipeline;
	struct ndjson *nd;
};

/* The one thing a signal handler can reach. */
static volatile sig_atomic_t stop;

/* Stops reading; what has come is summed up as at the end of a file.  A read
 * that waits for a pipe is ended by putting an empty file in its place. */
static void
on_signal(int sig)
{
	int fd;

	(void)sig;
	stop = 1;
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && isatty(STDIN_FILENO) == 0) {
		(void)dup2(fd, STDIN_FILENO);
		(void)close(fd);
	}
}

static void
catch_signals(void)
{
	/* The second one ends the program at once. */
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

	(void)sigemptyset(&sa.sa_mask);
	(void)sigaction(SIGINT, &sa, NULL);
	(void)sigaction(SIGTERM, &sa, NULL);
}

static int
usage(const char *fmt_option, const char *value, const char *want)
{
	return value_bad("analyze", fmt_option, value, want);
}

static void
add_file(struct run *r, const char *path)
{
	if (r->n_files == r->cap_files) {
		r->cap_files = r->cap_files ? r->cap_files * 2 : 8;
		r->files = xrealloc(r->files, r->cap_files * sizeof *r->files);
	}
	r->files[r->n_files++] = path;
}

static int
set_format(struct run *r, const char *arg)
{
	static const char *const words[] = { "text", "json", "ndjson", "junit", "markdown",
	    NULL };
	int i, rc = value_word("analyze", "--format", arg, words,
	    "it is text, json, ndjson, junit or markdown", &i);

	r->format = rc ? FORMAT_TEXT : (enum format)i;
	return rc;
}

static int
set_limit(struct run *r, const char *arg)
{
	struct errmsg em;

	if (limits_set(&r->pipe.limits, str_c(arg), &em) == 0)
		return 0;
	complain("mcpdiag analyze: %s", em.text);
	return STATUS_USAGE;
}

static int
set(void *run, int id, const char *arg)
{
	struct run *r = run;
	uint64_t n;

	switch (id) {
	case O_READ:
		add_file(r, arg);
		return 0;
	case O_FILTER:
		r->filter = arg;
		return 0;
	case O_WHERE:
		return value_where("analyze", arg, &r->where);
	case O_COUNT:
		return value_number("analyze", "--count", arg, 1, UINT64_MAX, &r->count);
	case O_FORMAT:
		return set_format(r, arg);
	case O_OUTPUT:
		r->output = arg;
		return 0;
	case O_QUIET:
		r->quiet++;
		return 0;
	case O_VERBOSE:
		r->verbose++;
		return 0;
	case O_LINES:
		r->lines = true;
		return 0;
	case O_LINT:
		r->lint = true;
		return 0;
	case O_NUMERIC:
		return 0;
	case O_COLOR:
		return value_color("analyze", arg, &r->color);
	case O_FAIL_ON:
		return value_fail_on("analyze", arg, &r->fail, &r->fail_on);
	case O_ONLY:
		return gate_add(&r->gate.only, "--only", arg) ? 0 : STATUS_USAGE;
	case O_IGNORE:
		return gate_add(&r->gate.ignore, "--ignore", arg) ? 0 : STATUS_USAGE;
	case O_BASELINE:
		r->known.path = arg;
		return 0;
	case O_WRITE_BASELINE:
		r->known.write = arg;
		return 0;
	case O_REQUIRE_MCP:
		r->require_mcp = true;
		return 0;
	case O_ALLOW_INCOMPLETE:
		r->allow_incomplete = true;
		return 0;
	case O_SHOW_SECRETS:
		r->pipe.show_secrets = true;
		return 0;
	case O_LIMIT:
		return set_limit(r, arg);
	case O_KEYLOG:
		r->keylog = arg;
		return 0;
	case O_DIVIDE:
		if (value_number("analyze", "--limits-divide", arg, 1, UINT64_MAX, &n) != 0)
			return STATUS_USAGE;
		r->divide = n > UINT32_MAX ? UINT32_MAX : (unsigned)n;
		return 0;
	}
	return STATUS_USAGE;
}

/* Every event, after the timeline has seen it. */
static void
on_event(void *arg, const struct ev *e)
{
	struct run *r = arg;

	if (e->type == EV_FINDING && (!gate_passes(&r->gate, e->u.finding) ||
	    known_has(&r->known, pipeline_timeline(r->pipeline), e->u.finding)))
		return;
	if (r->select && !select_event(r->select, e, pipeline_first(r->pipeline)))
		return;
	if (r->format == FORMAT_NDJSON && r->quiet < 2)
		ndjson_event(r->nd, e);
}

static void
to_pipeline(void *arg, const struct ev *e)
{
	pipeline_event(arg, e);
}

static int
open_captures(struct run *r, struct source *s)
{
	struct errmsg em;

	for (unsigned i = 0; i < r->n_files; i++)
		if (source_add(s, r->files[i], &em) != 0) {
			complain("mcpdiag: %s", em.text);
			return STATUS_INPUT;
		}
	return 0;
}

static int
read_captures(struct run *r, struct pipeline *p)
{
	struct source *s = source_new();
	struct source_file f;
	struct progress bar;
	struct packet pk[BATCH];
	uint64_t done, total, n = 0;
	unsigned k;
	int rc = open_captures(r, s);
	const char *term = getenv("TERM");

	if (rc != 0)
		goto out;
	progress_init(&bar, !r->quiet && term && strcmp(term, "dumb") != 0);
	while (!stop && source_next(s, pk) == 1) {
		k = 1;
		if (r->count == 0)
			k += source_more(s, pk + 1, BATCH - 1);
		n += pipeline_packets(p, pk, k);
		if (n == r->count && n > 0)
			break;
		if (progress_due(&bar)) {
			source_progress(s, &done, &total);
			progress_show(&bar, done, total);
		}
	}
	progress_fini(&bar);
	for (unsigned i = 0; source_file(s, i, &f); i++)
		pipeline_file(p, &f);
out:
	source_free(s);
	return rc;
}

static void
event_notes(struct pipeline *p, const struct ndjson_stats *s)
{
	char text[256];

	if (s->bad) {
		(void)snprintf(text, sizeof text, "%llu line%s of the event file "
		    "could not be read, first line %llu: %s",
		    (unsigned long long)s->bad, s->bad == 1 ? "" : "s",
		    (unsigned long long)s->first_bad, s->why);
		pipeline_note(p, "events", text);
	}
	if (!s->ended)
		pipeline_note(p, "events", "the event file has no `end` event: "
		    "it is cut");
}

static int
read_events(struct run *r, struct pipeline *p)
{
	struct ndjson_in *in = ndjson_in_new(to_pipeline, p);
	const struct ndjson_stats *s = ndjson_in_stats(in);
	struct errmsg em;
	int rc = 0;

	if (input_events(r->files[0], in, &stop, &em) != 0) {
		complain("mcpdiag: %s", em.text);
		rc = STATUS_INPUT;
	} else if (s->events == 0) {
		complain("mcpdiag: %s: no event in it can be read (line "
		    "%llu: %s); it should come from `mcpdiag analyze -T ndjson`",
		    r->files[0], (unsigned long long)s->first_bad,
		    s->bad ? s->why : "nothing");
		rc = STATUS_INPUT;
	} else
		event_notes(p, s);
	ndjson_in_free(in);
	return rc;
}

/* The test cases are the detectors that --only and --ignore let pass. */
static void
print_junit(const struct run *r, struct output *o, const struct timeline *tl,
    const struct verdict *v)
{
	struct gate_names names;
	struct junit_opts opts = { .fail = r->fail, .fail_on = r->fail_on,
	    .allow_incomplete = r->allow_incomplete };

	gate_looked_for(&r->gate, &names);
	opts.detectors = names.name;
	sink_junit(&o->out, tl, v, &opts);
}

static void
print(struct run *r, struct output *o, const struct timeline *tl,
    const struct verdict *v)
{
	struct text_opts opts = { .color = report_color(r->color, o),
	    .findings_only = r->quiet == 1, .all = r->verbose > 0, .lint = r->lint,
	    .width = report_width(o) };

	if (r->quiet > 1)
		return;
	switch (r->format) {
	case FORMAT_TEXT:
		sink_text(&o->out, tl, v, &opts);
		return;
	case FORMAT_JSON:
		sink_json(&o->out, tl, v, MCPDIAG_VERSION);
		return;
	case FORMAT_JUNIT:
		print_junit(r, o, tl, v);
		return;
	case FORMAT_MARKDOWN:
		sink_markdown(&o->out, tl, v, MCPDIAG_VERSION);
		return;
	case FORMAT_NDJSON:
		return;		/* it has been written already */
	}
}

static bool
is_gated(void *arg, const struct finding *f)
{
	return !gate_passes(arg, f);
}

/* The verdict on the findings that count, and what was taken out of them; NULL
 * when a baseline could not be written (its exit status in *rc). */
static struct verdict *
judge(struct run *r, struct timeline *tl, int *rc)
{
	uint32_t gated = timeline_hide(tl, is_gated, &r->gate), known;
	struct verdict *v;
	char text[128];

	*rc = known_write(&r->known, tl, r->files, r->n_files);
	if (*rc != 0)
		return NULL;
	known = known_hide(&r->known, tl);
	v = verdict_new(tl);
	if (gated) {
		(void)snprintf(text, sizeof text, "%u finding%s left out by --only or "
		    "--ignore", gated, gated == 1 ? " is" : "s are");
		verdict_note(v, "gate", text);
	}
	r->n_stale = known_say(&r->known, &r->gate, known, v, r->quiet < 2);
	return v;
}

/* What is shown from here on; the verdict is that on all of it. */
static void
narrow(struct run *r, struct verdict *v)
{
	struct select_sums n;
	char text[256];

	if (r->select == NULL)
		return;
	select_end(r->select, &n);
	(void)snprintf(text, sizeof text, "the display filter shows %u of %u finding%s, "
	    "%u of %u session%s, %u of %u event stream%s", n.findings, n.all_findings,
	    n.all_findings == 1 ? "" : "s", n.sessions, n.all_sessions,
	    n.all_sessions == 1 ? "" : "s", n.streams, n.all_streams,
	    n.all_streams == 1 ? "" : "s");
	verdict_note(v, "where", text);
}

static int
exit_status(const struct run *r, const struct verdict *v)
{
	uint32_t n = 0;

	for (int s = (int)r->fail_on; r->fail && s <= SEV_ERROR; s++)
		n += v->n_severity[s];
	if (n || (r->fail && r->n_stale))
		return STATUS_FOUND;
	if (r->require_mcp && !v->mcp) {
		complain("mcpdiag: --require-mcp: %s",
		    v->kind == VERDICT_UNKNOWN ? "no MCP could be read" : v->text);
		return STATUS_INPUT;
	}
	if (v->hidden && r->fail && !r->allow_incomplete)
		return STATUS_INCOMPLETE;
	return STATUS_CLEAN;
}

static int
run_pipeline(struct run *r, struct output *o, bool events)
{
	struct verdict *v = NULL;
	struct pipeline *p;
	struct errmsg em;
	int rc;

	r->nd = ndjson_new(&o->out);
	if (r->format == FORMAT_NDJSON && r->quiet < 2)
		o->out.lines = r->lines || o->tty;
	if (r->format == FORMAT_NDJSON || r->where) {
		r->pipe.tap = on_event;
		r->pipe.arg = r;
	}
	r->pipeline = p = pipeline_new(&r->pipe);
	if (r->where)
		r->select = select_new(r->where, pipeline_timeline(p));
	catch_signals();
	rc = events ? read_events(r, p) : read_captures(r, p);
	if (rc != 0)
		goto out;
	if (r->keylog)
		pipeline_note(p, "keylog", "the key log was not used: this version "
		    "does not decrypt TLS");
	pipeline_end(p);
	v = judge(r, pipeline_timeline(p), &rc);
	if (v == NULL)
		goto out;
	narrow(r, v);
	print(r, o, pipeline_timeline(p), v);
	rc = output_done(o, &em);
	if (rc < 0) {
		complain("mcpdiag: %s", em.text);
		rc = STATUS_ENVIRONMENT;
	} else
		rc = rc > 0 ? STATUS_PIPE : exit_status(r, v);
out:
	verdict_free(v);
	select_free(r->select);
	pipeline_free(p);
	ndjson_free(r->nd);
	return rc;
}

/* What the inputs are; a usage error when they do not go together. */
static int
look_at_inputs(struct run *r, bool *events)
{
	*events = false;
	if (r->n_files == 0 && isatty(STDIN_FILENO)) {
		complain("mcpdiag analyze: no capture given; name a file, or "
		    "pipe one in: tcpdump -w - | mcpdiag analyze -");
		return STATUS_USAGE;
	}
	if (r->n_files == 0)
		add_file(r, "-");
	for (unsigned i = 0; i < r->n_files && !*events; i++)
		*events = input_is_events(r->files[i]);
	if (!*events)
		return 0;
	if (r->n_files > 1)
		return usage("event file", "with others", "its numbers fit no other "
		    "file; analyze it alone");
	if (r->filter || r->count)
		return usage("event file", "with -f or -c", "they need packets; use "
		    "them on the capture it came from");
	return 0;
}

static int
start(struct run *r)
{
	struct output o = { .fd = -1 };
	struct errmsg em;
	bool events;
	int rc = look_at_inputs(r, &events);

	if (rc != 0)
		return rc;
	if (r->divide)
		limits_shrink(&r->pipe.limits, r->divide);
	if (r->keylog && access(r->keylog, R_OK) != 0) {
		complain("mcpdiag: --keylog %s: %s", r->keylog,
		    strerror(errno));
		return STATUS_INPUT;
	}
	if (r->filter) {
		r->pipe.filter = bpf_new(r->filter, &em);
		if (r->pipe.filter == NULL)
			return usage("--filter", r->filter, em.text);
	}
	rc = known_read(&r->known);
	if (rc != 0)
		goto out;
	rc = output_open(&o, r->output, r->files, r->n_files, &em);
	if (rc != 0) {
		complain("mcpdiag analyze: -o %s", em.text);
		rc = rc == -E_USAGE ? STATUS_USAGE : STATUS_ENVIRONMENT;
	} else
		rc = run_pipeline(r, &o, events);
	output_fini(&o);
out:
	bpf_free(r->pipe.filter);
	return rc;
}

static int
run_analyze(const struct command *cmd, int argc, char **argv)
{
	struct run r = { .cmd = cmd, .fail = true, .fail_on = SEV_ERROR };
	int operand, rc;

	limits_init(&r.pipe.limits);
	rc = opts_each(cmd, argc, argv, set, &r, &operand);
	for (; rc == 0 && operand < argc; operand++)
		add_file(&r, argv[operand]);
	if (rc == 0)
		rc = start(&r);
	known_fini(&r.known);
	where_free(r.where);
	gate_fini(&r.gate);
	free(r.files);
	return rc == OPT_DONE ? STATUS_CLEAN : rc;
}

const struct command cmd_analyze = {
	.name = "analyze",
	.synopsis = "[options] [FILE...]",
	.summary = "Tells what is wrong with the MCP traffic in captures.",
	.statuses = "0 nothing found, 1 a fault, 2 usage, 3 input unusable,\n"
	    "  4 environment, 6 cannot tell",
	.opts = options,
	.examples = examples,
	.run = run_analyze,
};
