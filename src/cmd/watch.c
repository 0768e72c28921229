#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "complain.h"
#include "confine.h"
#include "interfaces.h"
#include "mcpdiag/live.h"
#include "mcpdiag/loop.h"
#include "mcpdiag/ndjson.h"
#include "mcpdiag/pipeline.h"
#include "mcpdiag/privdrop.h"
#include "mcpdiag/sink.h"
#include "mcpdiag/xmem.h"
#include "opts.h"
#include "output.h"
#include "reader.h"
#include "record.h"
#include "report.h"
#include "screen.h"
#include "tell.h"
#include "value.h"

#define TURN 4096		/* packets handled before the loop goes on */
#define SCREEN_TURN 1024	/* the same, where keys wait */
#define TICK (100 * NS_MS)
#define LATE (200 * NS_MS)	/* packets may still wait in the ring */
#define LAST (20 * NS_MS)		/* after ^C: what waits there then */
#define HINT (5 * NS_S)
#define MAX_FILES 10000

enum {
	O_INTERFACE = OPT_OWN, O_READ, O_FILTER, O_WRITE, O_SIZE, O_FILES, O_COUNT,
	O_DURATION, O_SNAPLEN, O_BUFFER, O_PROMISC, O_USER, O_LIST, O_FORMAT, O_QUIET,
	O_COLOR, O_FAIL_ON, O_LIMIT, O_SHOW_SECRETS, O_FOLLOW, O_SPEED,
};

static const struct opt options[] = {
	{ O_INTERFACE, 'i', "interface", "NAME", "capture there (the first that is up); any: all" },
	{ O_LIST, 'D', "list-interfaces", NULL, "list the interfaces and exit" },
	{ O_READ, 'r', "read", "FILE", "a capture instead; - is stdin, as it comes" },
	{ O_FOLLOW, 0, "follow", NULL, "with -r: go on while the file grows" },
	{ O_SPEED, 'x', "speed", "X", "with -r: X times as fast as it was; 1: real time" },
	{ O_FILTER, 'f', "filter", "BPF", "only packets that match, as in tcpdump" },
	{ O_WRITE, 'w', "write", "FILE", "save the packets, too; - is stdout" },
	{ O_SIZE, 'C', "file-size", "MB", "go on in another file after that much" },
	{ O_FILES, 'W', "file-count", "N", "with -C: overwrite the oldest of N files" },
	{ O_COUNT, 'c', "count", "N", "stop after N packets" },
	{ O_DURATION, 0, "duration", "SECONDS", "stop after that time" },
	{ O_SNAPLEN, 's', "snaplen", "BYTES", "of each packet (262144)" },
	{ O_BUFFER, 'B', "buffer-size", "KIB", "of the kernel's ring (65536)" },
	{ O_PROMISC, 0, "promiscuous", NULL, "packets for others, too" },
	{ O_USER, 'Z', "user", "NAME", "as root: become NAME before parsing; root: stay" },
	{ O_FORMAT, 'T', "format", "FORMAT", "text (default) or ndjson" },
	{ O_QUIET, 'q', "quiet", NULL, "findings only" },
	{ O_COLOR, 0, "color", "WHEN", "auto (default), always or never" },
	{ O_FAIL_ON, 0, "fail-on", "LEVEL", "exit 1 from: info, warning, error (default), none" },
	{ O_SHOW_SECRETS, 0, "show-secrets", NULL, "session ids and tokens as they are" },
	{ O_LIMIT, 0, "limit", "NAME=VALUE", "set a limit: mcpdiag-analyze(1)" },
	OPTS_STANDARD,
	{ 0 },
};

static const char *const examples[] = {
	"mcpdiag watch -i lo port 3000", "who owns each channel, as it happens",
	"ssh host tcpdump -U -w - | mcpdiag watch -r -", "on another machine",
	"mcpdiag watch -i any -w ring -C 100 -W 10", "and keep the last gigabyte",
	NULL,
};

struct run {
	const struct command *cmd;
	struct live_opts live_opts;
	bool follow;
	uint32_t speed;			/* in thousandths, 0: no waiting */
	const char *read, *write, *user, *color;
	char *filter;			/* -f and the trailing words */
	uint64_t file_size, count, duration;
	unsigned file_count;
	bool packets_out;		/* to stdout; what is told, to stderr */
	bool ndjson, lines, quiet, fail;	/* lines: asked for, by -T */
	enum severity fail_on;
	struct pipeline_opts pipe;

	struct loop *loop;
	struct live *live;
	struct loop_fd *ready;
	struct reader *reader;
	struct record *record;
	struct pipeline *p;
	struct output out;
	struct ndjson *nd;
	struct loop_timer *tick, *stop, *hint;
	struct screen *screen;		/* NULL: lines */
	char first[64];			/* interface, where none was named */
	char source[256];		/* for its first line */
	uint64_t packets;
	struct live_stats stats;
	bool stopping, ended, unusable, mcp, record_failed;
	int rc;
};

static int
usage(const char *option, const char *value, const char *want)
{
	return value_bad("watch", option, value, want);
}

/* Up to three decimals. */
static int
set_speed(struct run *r, const char *arg)
{
	const char *dot = strchr(arg, '.');
	size_t n = dot ? strlen(dot + 1) : 0;
	uint64_t whole = 0, part = 0;

	if (n <= 3 && dot != arg && str_u64(dot ? str_of(arg, (size_t)(dot - arg)) :
	    str_c(arg), &whole) && whole <= READER_SPEED_MAX / 1000 &&
	    (dot == NULL || str_u64(str_c(dot + 1), &part))) {
		for (; n < 3; n++)
			part *= 10;
		r->speed = (uint32_t)(whole * 1000 + part);
		if (r->speed > 0 && r->speed <= READER_SPEED_MAX)
			return 0;
	}
	return usage("--speed", arg, "give a number from 0.001 to 1000000");
}

static int
set(void *run, int id, const char *arg)
{
	struct run *r = run;
	struct errmsg em;
	uint64_t n = 0;
	int rc = 0;

	switch (id) {
	case O_INTERFACE:
		r->live_opts.interface = arg;
		break;
	case O_LIST:
		rc = interfaces_list();
		return rc ? rc : OPT_DONE;
	case O_READ:
		r->read = arg;
		break;
	case O_FILTER:
		free(r->filter);
		r->filter = xmemdup0(arg, strlen(arg));
		break;
	case O_WRITE:
		r->write = arg;
		break;
	case O_SIZE:
		rc = value_number("watch", "--file-size", arg, 1, 1 << 20, &n);
		r->file_size = n * 1000000;
		break;
	case O_FILES:
		rc = value_number("watch", "--file-count", arg, 1, MAX_FILES, &n);
		r->file_count = (unsigned)n;
		break;
	case O_COUNT:
		return value_number("watch", "--count", arg, 1, UINT64_MAX, &r->count);
	case O_DURATION:
		return value_number("watch", "--duration", arg, 1, 1U << 30, &r->duration);
	case O_SNAPLEN:
		rc = value_number("watch", "--snaplen", arg, 1, LIVE_SNAPLEN, &n);
		r->live_opts.snaplen = (uint32_t)n;
		break;
	case O_BUFFER:
		rc = value_number("watch", "--buffer-size", arg, 1, 1 << 20, &n);
		r->live_opts.buffer = (size_t)n << 10;
		break;
	case O_PROMISC:
		r->live_opts.promiscuous = true;
		break;
	case O_USER:
		r->user = arg;
		break;
	case O_FORMAT:
		r->lines = true;
		r->ndjson = strcmp(arg, "ndjson") == 0;
		if (!r->ndjson && strcmp(arg, "text") != 0)
			return usage("--format", arg, "it is text or ndjson");
		break;
	case O_QUIET:
		r->quiet = true;
		break;
	case O_COLOR:
		return value_color("watch", arg, &r->color);
	case O_FAIL_ON:
		return value_fail_on("watch", arg, &r->fail, &r->fail_on);
	case O_SHOW_SECRETS:
		r->pipe.show_secrets = true;
		break;
	case O_FOLLOW:
		r->follow = true;
		break;
	case O_SPEED:
		return set_speed(r, arg);
	case O_LIMIT:
		if (limits_set(&r->pipe.limits, str_c(arg), &em) == 0)
			break;
		complain("mcpdiag watch: %s", em.text);
		return STATUS_USAGE;
	}
	return rc;
}

/* The words behind the options are the filter, as with tcpdump. */
static int
take_words(struct run *r, int argc, char **argv, int from)
{
	struct buf b;

	if (from == argc)
		return 0;
	if (r->filter)
		return usage("--filter", "and further words", "give one or the other");
	buf_init(&b, 1U << 16);
	for (; from < argc; from++)
		(void)buf_fmt(&b, "%s%s", b.n ? " " : "", argv[from]);
	r->filter = xmemdup0(b.p, b.n);
	buf_fini(&b);
	return 0;
}

static int
parse(struct run *r, int argc, char **argv)
{
	int operand, rc = opts_each(r->cmd, argc, argv, set, r, &operand);

	if (rc != 0)
		return rc;
	if ((r->follow || r->speed) && (r->read == NULL || strcmp(r->read, "-") == 0))
		return usage(r->follow ? "--follow" : "--speed", r->read ? "with -r -" :
		    "without --read", "-r names the file; a pipe is read as it comes");
	if (r->follow && r->speed)
		return usage("--follow", "with --speed", "a file that grows is read as it "
		    "grows");
	if (r->file_count && !r->file_size)
		return usage("--file-count", "without --file-size", "-C says how large "
		    "each file of the ring may be");
	r->packets_out = r->write && strcmp(r->write, "-") == 0;
	if (r->packets_out && (r->file_size || isatty(STDOUT_FILENO)))
		return usage("--write", "-", r->file_size ? "the files of a ring have names" :
		    "packets do not go to a terminal");
	if (r->file_size && !r->write)
		return usage("--file-size", "without --write", "-w names the file");
	return take_words(r, argc, argv, operand);
}

/* ---- packets ---- */

static void
look_for_drops(struct run *r)
{
	struct live_stats s;

	live_stats(r->live, &s);
	if (s.dropped + s.if_dropped > r->stats.dropped + r->stats.if_dropped)
		complain("mcpdiag watch: %s: %llu packets dropped so far: verdicts are less "
		    "sure; a filter, or a larger ring (-B), helps",
		    r->live_opts.interface, (unsigned long long)(s.dropped + s.if_dropped));
	r->stats = s;
}

/* What is known of the input, for the totals. */
static void
tell_input(struct run *r)
{
	struct source_file f = { 0 };

	if (r->live) {
		look_for_drops(r);
		f.path = r->live_opts.interface;
		f.format = "live";
		f.stats.packets = r->packets;
		f.stats.dropped = r->stats.dropped + r->stats.if_dropped;
		f.linktypes[0] = live_linktype(r->live);
		f.n_linktypes = 1;
		pipeline_file(r->p, &f);
	}
	if (r->reader == NULL || !source_file(reader_source(r->reader), 0, &f))
		return;
	pipeline_file(r->p, &f);
}

static void
flush_record(struct run *r)
{
	struct errmsg em;

	if (r->record == NULL || r->record_failed || record_flush(r->record, &em) == 0)
		return;
	r->record_failed = true;
	complain("mcpdiag watch: %s; no more is saved", em.text);
}

/* No packet comes any more: all that can be said is said, once. */
static void
end_input(struct run *r)
{
	if (r->ended)
		return;
	r->ended = true;
	loop_fd_free(r->ready);
	r->ready = NULL;
	loop_timer_clear(r->tick);
	flush_record(r);
	tell_input(r);
	pipeline_end(r->p);
}

/* No more packets; the screens stay until they are left. */
static void
stop(struct run *r)
{
	if (r->stopping)
		return;
	r->stopping = true;
	if (r->screen == NULL || r->unusable) {
		loop_stop(r->loop);
		return;
	}
	end_input(r);
	screen_ended(r->screen);
}

/* What was captured is saved before it is looked at: nothing is lost then. */
static void
save(struct run *r, const struct packet *pk)
{
	const char *name = r->live ? r->live_opts.interface : NULL;
	struct errmsg em = { "" };

	if (r->write == NULL || r->record_failed)
		return;
	if (r->record == NULL)
		r->record = record_new(r->write, pk->linktype, r->file_size, r->file_count,
		    name, &em);
	if (r->record && record_packet(r->record, pk, &em) == 0)
		return;
	r->record_failed = true;
	complain("mcpdiag watch: %s; no more is saved", em.text);
	r->rc = STATUS_ENVIRONMENT;
}

/* False when no more are wanted. */
static bool
take_packet(void *arg, const struct packet *pk)
{
	struct run *r = arg;

	if (r->stopping || (r->count && r->packets >= r->count))
		return false;
	save(r, pk);
	if (r->screen)
		screen_packet(r->screen, pk);
	r->packets += pipeline_packets(r->p, pk, 1);
	if (r->packets == r->count)
		stop(r);
	return !r->stopping;
}

static void
on_packet(void *arg, const struct packet *pk)
{
	(void)take_packet(arg, pk);
}

/* Lines go out at the end of the turn of the loop in which they came up: at once
 * for who reads them, and for a burst in one piece. */
static void
on_turn(void *arg)
{
	struct run *r = arg;

	if (r->nd ? out_flush(&r->out.out) != 0 : fflush(r->packets_out ? stderr : stdout) != 0)
		stop(r);
}

static void
on_live(void *arg, int fd, unsigned ready)
{
	struct run *r = arg;
	struct errmsg em;

	(void)fd;
	(void)ready;
	if (live_read(r->live, r->screen ? SCREEN_TURN : TURN, on_packet, r, &em) >= 0) {
		on_turn(r);
		return;
	}
	complain("mcpdiag watch: %s: %s", r->live_opts.interface, em.text);
	r->rc = STATUS_ENVIRONMENT;
	stop(r);
}

/* Of a pipe it turns out only now that it was no capture. */
static void
on_end(void *arg)
{
	struct run *r = arg;
	struct source_file f;

	if (source_file(reader_source(r->reader), 0, &f) && f.error && f.format == NULL) {
		complain("mcpdiag watch: %s: %s", f.path, f.error);
		r->unusable = true;
	}
	stop(r);
}

/* ---- time ---- */

static void
on_tick(void *arg)
{
	struct run *r = arg;

	if (r->live) {
		look_for_drops(r);
		pipeline_tick(r->p, loop_now(r->loop) - LATE);
		on_turn(r);
	}
	flush_record(r);
	loop_timer_set(r->tick, TICK);
}

static void
on_stop(void *arg)
{
	stop(arg);
}

static void
on_hint(void *arg)
{
	struct run *r = arg;

	if (r->mcp)
		return;
	if (r->packets == 0)
		complain("mcpdiag watch: no packet on %s for 5 s: another interface (-D "
		    "lists them, -i any is all), or a filter that lets nothing pass?",
		    r->live_opts.interface);
	else
		complain("mcpdiag watch: %llu packets in 5 s, but no MCP that can be read: "
		    "another interface or port, or TLS (capture behind the proxy)?",
		    (unsigned long long)r->packets);
}

static void
on_signal(void *arg, int sig)
{
	struct run *r = arg;

	(void)sig;
	/* The second one ends the program at once. */
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
	loop_timer_set(r->stop, r->live ? LAST : 0);
}

static void
on_event(void *arg, const struct ev *e)
{
	struct run *r = arg;

	r->mcp |= e->type == EV_SESSION || e->type == EV_MESSAGE;
	if (r->screen) {
		screen_event(r->screen, e);
		return;
	}
	if (r->nd) {
		ndjson_event(r->nd, e);
		return;
	}
	tell_event(r->packets_out ? stderr : stdout, r->quiet ? TELL_FINDINGS : TELL_ALL, e);
}

/* ---- start and end ---- */

static int
open_record(struct run *r)
{
	struct errmsg em;

	r->record = record_new(r->write, live_linktype(r->live), r->file_size,
	    r->file_count, r->live_opts.interface, &em);
	if (r->record)
		return 0;
	complain("mcpdiag watch: %s%s", em.text, r->file_size ? " (a ring is written "
	    "without privileges; --user says as whom)" : "");
	return STATUS_ENVIRONMENT;
}

static int
open_live(struct run *r)
{
	struct errmsg em;
	int code;

	if (r->live_opts.interface == NULL) {
		if (!interfaces_first(r->first, sizeof r->first)) {
			complain("mcpdiag watch: no interface to capture from; "
			    "-r - reads a pipe");
			return STATUS_ENVIRONMENT;
		}
		r->live_opts.interface = r->first;
	}
	r->live_opts.filter = r->filter;
	r->live = live_open(&r->live_opts, &code, &em);
	if (r->live == NULL) {
		complain("mcpdiag watch: %s", em.text);
		return code == -E_USAGE ? STATUS_USAGE : STATUS_ENVIRONMENT;
	}
	r->ready = loop_fd_new(r->loop, live_fd(r->live), LOOP_READ, on_live, r);
	return 0;
}

static int
open_file(struct run *r)
{
	struct reader_opts o = { .path = r->read, .follow = r->follow, .speed = r->speed,
		.packet = take_packet, .turn = on_turn, .end = on_end, .arg = r };
	struct errmsg em;

	if (r->filter) {
		r->pipe.filter = bpf_new(r->filter, &em);
		if (r->pipe.filter == NULL)
			return usage("--filter", r->filter, em.text);
	}
	r->reader = reader_new(r->loop, &o, &em);
	if (r->reader)
		return 0;
	complain("mcpdiag watch: %s", em.text);
	return STATUS_INPUT;
}

/* ---- screens ---- */

static void
on_text(void *arg, struct str text, uint64_t bytes, bool cut)
{
	struct run *r = arg;

	screen_text(r->screen, text, bytes, cut);
}

static void
tell_state(void *arg, struct tui_state *state)
{
	struct run *r = arg;
	uint64_t done, total;

	state->packets = r->packets;
	state->dropped = r->stats.dropped + r->stats.if_dropped;
	if (r->reader == NULL)
		return;
	source_progress(reader_source(r->reader), &done, &total);
	if (total)
		state->done = done < total ? (double)done / (double)total : 1;
}

static void
on_finish(void *arg)
{
	struct run *r = arg;

	loop_timer_set(r->stop, r->live ? LAST : 0);
}

static int
start_screen(struct run *r, struct errmsg *em)
{
	bool pipe = r->read && strcmp(r->read, "-") == 0;
	struct screen_opts o = { .pipe = &r->pipe, .timeline = pipeline_timeline(r->p),
		.file = pipe ? NULL : r->read, .source = r->source,
		.live = r->live || pipe || r->follow, .saved = r->write || r->follow,
		.arg = r, .state = tell_state, .finish = on_finish };
	const char *slash = r->read ? strrchr(r->read, '/') : NULL;

	if (r->live)
		o.interface = r->live_opts.interface;
	(void)snprintf(r->source, sizeof r->source, "%s%s%s", r->live ? o.interface :
	    pipe ? "stdin" : slash ? slash + 1 : r->read, r->filter ? ", " : "",
	    r->filter ? r->filter : "");
	return screen_start(r->screen, &o, em);
}

static int
open_all(struct run *r)
{
	struct errmsg em;
	int rc;

	r->loop = loop_new(&em);
	if (r->loop == NULL) {
		complain("mcpdiag watch: %s", em.text);
		return STATUS_ENVIRONMENT;
	}
	rc = r->read ? open_file(r) : open_live(r);
	if (rc == 0 && r->live && r->write && !r->file_size)
		rc = open_record(r);
	if (rc != 0)
		return rc;
	if (!r->lines && !r->quiet && !r->packets_out)
		r->screen = screen_open(r->loop, r->color);
	/* Nothing off the wire is looked at with more than it needs.  A file
	 * needs nothing, and what is saved of it is its reader's. */
	if ((r->live || r->user) && (rc = privdrop(r->user, &em)) != 0) {
		complain("mcpdiag watch: %s", em.text);
		return rc == -E_USAGE ? STATUS_USAGE : STATUS_ENVIRONMENT;
	}
	/* Of a ring all files can be overwritten, or none is made. */
	if (r->live && r->write && r->file_size && (rc = open_record(r)) != 0)
		return rc;
	if (output_open(&r->out, NULL, NULL, 0, &em) != 0) {
		complain("mcpdiag watch: %s", em.text);
		return STATUS_ENVIRONMENT;
	}
	if (r->packets_out) {
		r->out.fd = r->out.out.fd = STDERR_FILENO;
		r->out.tty = isatty(STDERR_FILENO);
	}
	if (r->ndjson)
		r->nd = ndjson_new(&r->out.out);
	r->pipe.tap = on_event;
	r->pipe.arg = r;
	if (r->screen)
		r->pipe.text = on_text;
	r->p = pipeline_new(&r->pipe);
	if (r->screen)
		return start_screen(r, &em) == 0 ? 0 : STATUS_ENVIRONMENT;
	if (loop_signal(r->loop, SIGINT, on_signal, r, &em) != 0 ||
	    loop_signal(r->loop, SIGTERM, on_signal, r, &em) != 0) {
		complain("mcpdiag watch: %s", em.text);
		return STATUS_ENVIRONMENT;
	}
	return 0;
}

static void
give_up_the_rest(const struct run *r)
{
	struct confine_opts o = { .read = r->read, .here = r->screen != NULL };

	/* A single file of a live capture is open; others are when they are due. */
	if (!r->packets_out && (r->file_size || r->record == NULL))
		o.write = r->write;
	/* Where libpcap looks for packets that the interface dropped. */
	if (r->live && r->live_opts.promiscuous)
		o.interface = r->live_opts.interface;
	confine(&o);
}

static void
start_timers(struct run *r)
{
	r->tick = loop_timer_new(r->loop, on_tick, r);
	r->stop = loop_timer_new(r->loop, on_stop, r);
	r->hint = loop_timer_new(r->loop, on_hint, r);
	loop_timer_set(r->tick, TICK);
	if (r->duration)
		loop_timer_set(r->stop, (ns_t)r->duration * NS_S);
	if (r->live) {
		loop_timer_set(r->hint, HINT);
		if (r->screen)
			return;
		complain("mcpdiag watch: listening on %s%s%s", r->live_opts.interface,
		    r->filter ? ", " : "", r->filter ? r->filter : "");
	}
}

static int
finish(struct run *r)
{
	struct text_opts to = { .color = report_color(r->color, &r->out),
		.findings_only = r->quiet, .width = report_width(&r->out) };
	struct verdict *v;
	struct errmsg em;
	uint32_t n = 0;
	int rc = r->rc;

	end_input(r);
	on_turn(r);			/* lines come before the report */
	v = verdict_new(pipeline_timeline(r->p));
	if (!r->ndjson) {
		out_c(&r->out.out, "\n");
		sink_text(&r->out.out, pipeline_timeline(r->p), v, &to);
	}
	for (int s = (int)r->fail_on; r->fail && s <= SEV_ERROR; s++)
		n += v->n_severity[s];
	verdict_free(v);
	switch (output_done(&r->out, &em)) {
	case 0:
		break;
	case 1:
		return STATUS_PIPE;
	default:
		complain("mcpdiag watch: %s", em.text);
		return STATUS_ENVIRONMENT;
	}
	return rc ? rc : n ? STATUS_FOUND : STATUS_CLEAN;
}

static void
close_all(struct run *r)
{
	(void)screen_close(r->screen);
	pipeline_free(r->p);
	ndjson_free(r->nd);
	loop_timer_free(r->tick);
	loop_timer_free(r->stop);
	loop_timer_free(r->hint);
	loop_fd_free(r->ready);
	live_close(r->live);
	reader_free(r->reader);
	record_free(r->record);
	bpf_free(r->pipe.filter);
	output_fini(&r->out);
	loop_free(r->loop);
	free(r->filter);
}

static int
run(const struct command *cmd, int argc, char **argv)
{
	struct run r = { .cmd = cmd, .fail = true, .fail_on = SEV_ERROR,
		.out = { .fd = -1 } };
	int rc, sig = 0;

	r.live_opts.snaplen = LIVE_SNAPLEN;
	r.live_opts.buffer = LIVE_BUFFER;
	limits_init(&r.pipe.limits);
	rc = parse(&r, argc, argv);
	if (rc == 0)
		rc = open_all(&r);
	if (rc == 0) {
		give_up_the_rest(&r);
		start_timers(&r);
		loop_run(r.loop);
		if (r.screen && !r.unusable)
			end_input(&r);
		/* The summary is for the normal screen. */
		sig = screen_close(r.screen);
		r.screen = NULL;
		rc = r.unusable ? STATUS_INPUT : sig ? 0 : finish(&r);
	}
	close_all(&r);
	if (sig) {
		(void)signal(sig, SIG_DFL);
		(void)raise(sig);
	}
	return rc == OPT_DONE ? STATUS_CLEAN : rc;
}

const struct command cmd_watch = {
	.name = "watch",
	.synopsis = "[options] [FILTER WORDS...]",
	.summary = "Shows live who owns each MCP channel, and what took it away.",
	.statuses = "0 nothing found, 1 a fault, 2 usage, 3 input unusable,\n"
	    "  4 environment (permission, interface)",
	.opts = options,
	.examples = examples,
	.run = run,
};
