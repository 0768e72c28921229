#include "save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conns.h"
#include "mcpdiag/capwrite.h"
#include "mcpdiag/packring.h"
#include "mcpdiag/sink.h"
#include "mcpdiag/xmem.h"

#define MAX_PATH 4096
#define MAX_INTERFACES 256	/* told apart in one file */
#define WIDTH 100		/* columns of a report */
#define AT_ONCE 65536		/* packets of a turn when nobody waits */

struct iface {
	uint32_t linktype, ifindex;
};

struct job {
	enum tui_save what;
	uint32_t session;
	char *path, *temp, *key;	/* key: of the session */
	struct conns_picked picked;
	struct decode *decode;
	struct source *source;		/* NULL: from the ring */
	struct packring_at at;
	struct capwrite *file;
	struct iface ifaces[MAX_INTERFACES];
	uint32_t n_ifaces;
	struct pipeline *report;
	uint64_t seen, written;
	uint32_t first_seen;		/* number of the first packet looked at */
	bool cut;			/* a packet was longer than is kept */
};

struct save {
	struct save_opts opts;
	struct conns *conns;
	struct packring *ring;		/* NULL: the file has them */
	uint32_t last_pkt;
	ns_t last;			/* time of the newest packet */
	uint64_t packets;
	const struct timeline *timeline;
	struct job *job;
};

#define ULL(v) ((unsigned long long)(v))

struct save *
save_new(const struct save_opts *o)
{
	struct save *s = xcalloc(1, sizeof *s);

	s->opts = *o;
	s->opts.pipe.tap = NULL;
	s->conns = conns_new((uint32_t)o->pipe.limits.flows);
	if (o->file == NULL)
		s->ring = packring_new((size_t)o->pipe.limits.ring);
	return s;
}

static void
job_free(struct job *j)
{
	if (j == NULL)
		return;
	capwrite_free(j->file);
	if (j->temp)
		(void)unlink(j->temp);
	free(j->temp);
	free(j->path);
	free(j->key);
	decode_free(j->decode);
	source_free(j->source);
	pipeline_free(j->report);
	free(j);
}

void
save_free(struct save *s)
{
	if (s == NULL)
		return;
	job_free(s->job);
	conns_free(s->conns);
	packring_free(s->ring);
	free(s);
}

void
save_packets(struct save *s, const struct packet *pk, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		s->last_pkt = pk[i].pkt;
		s->last = pk[i].t > s->last ? pk[i].t : s->last;
		s->packets++;
		if (s->ring)
			packring_add(s->ring, &pk[i]);
	}
}

void
save_event(struct save *s, const struct ev *e)
{
	conns_event(s->conns, e);
}

void
save_timeline(struct save *s, const struct timeline *tl)
{
	s->timeline = tl;
}

/* ---- the file that is written ---- */

static bool
same_file(const char *a, const char *b)
{
	struct stat x, y;

	return a && stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
	    x.st_ino == y.st_ino;
}

static int
cannot(const struct job *j, int err, struct errmsg *em)
{
	/* Most likely what sandbox() leaves, or that root's rights are gone. */
	return err_set(em, E_IO, "%.100s cannot be written: %s%s", j->path, strerror(err),
	    err == EACCES || err == EPERM ? "; watch writes only where it was "
	    "started" : "");
}

static int
make_temp(struct save *s, struct job *j, struct str path, struct errmsg *em)
{
	struct stat st;
	int fd;

	if (path.n == 0 || path.n >= MAX_PATH - 8 || memchr(path.p, 0, path.n))
		return err_set(em, E_USAGE, "that is no file name");
	j->path = xmemdup0(path.p, path.n);
	if (same_file(s->opts.file, j->path))
		return err_set(em, E_USAGE, "%.150s is what is being read; give another name",
		    j->path);
	if (lstat(j->path, &st) == 0)
		return err_set(em, E_USAGE, "%.150s is there already; give another name",
		    j->path);
	j->temp = xmalloc(path.n + sizeof ".XXXXXX");
	memcpy(j->temp, path.p, path.n);
	memcpy(j->temp + path.n, ".XXXXXX", sizeof ".XXXXXX");
	/* For its owner only: what people said is nobody else's business. */
	fd = mkstemp(j->temp);
	if (fd >= 0)
		return fd;
	fd = errno;
	free(j->temp);
	j->temp = NULL;
	return cannot(j, fd, em);
}

/* Its own name, unless somebody else has taken that meanwhile. */
static int
take_name(struct job *j, struct errmsg *em)
{
	int err = renameat2(AT_FDCWD, j->temp, AT_FDCWD, j->path, RENAME_NOREPLACE) == 0 ? 0 :
	    errno;

	if (err == EINVAL || err == ENOSYS)	/* that file system cannot */
		err = rename(j->temp, j->path) == 0 ? 0 : errno;
	if (err)
		return cannot(j, err, em);
	free(j->temp);
	j->temp = NULL;
	return 0;
}

static int
write_text(struct job *j, struct str text, struct errmsg *em)
{
	int fd = open(j->temp, O_WRONLY | O_TRUNC | O_CLOEXEC);
	size_t done = 0;
	int err = fd < 0 ? errno : 0;

	while (err == 0 && done < text.n) {
		ssize_t n = write(fd, text.p + done, text.n - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			err = errno;
	}
	if (fd >= 0 && close(fd) != 0 && err == 0)
		err = errno;
	return err ? cannot(j, err, em) : 0;
}

/* ---- packets ---- */

static uint32_t
interface_of(struct save *s, struct job *j, const struct packet *pk)
{
	uint32_t i;

	for (i = 0; i < j->n_ifaces; i++)
		if (j->ifaces[i].linktype == pk->linktype &&
		    (j->ifaces[i].ifindex == pk->ifindex || i == MAX_INTERFACES - 1))
			return i;
	if (i == MAX_INTERFACES)
		return UINT32_MAX;
	j->ifaces[i] = (struct iface){ pk->linktype, pk->ifindex };
	j->n_ifaces++;
	return i == 0 ? 0 : capwrite_interface(j->file, pk->linktype, s->opts.interface);
}

static int
write_packet(struct save *s, struct job *j, const struct packet *pk, struct errmsg *em)
{
	struct capwrite_opts o = { .linktype = pk->linktype,
		.application = "mcpdiag " MCPDIAG_VERSION, .interface = s->opts.interface };
	uint32_t on;

	if (j->file == NULL)
		j->file = capwrite_new(j->temp, &o, em);
	if (j->file == NULL)
		return -E_IO;
	on = interface_of(s, j, pk);
	j->cut |= pk->len > CAPWRITE_PACKET_MAX || on == UINT32_MAX;
	if (on == UINT32_MAX ||
	    capwrite_on(j->file, on, pk->t, pk->data, pk->len, pk->wire_len) == 0)
		return 0;
	return err_set(em, E_IO, "%s", capwrite_error(j->file));
}

/* Whether a packet is the session's.  Fragments of IP have no ports: all of
 * them are kept, and so is the one that completes a segment. */
static bool
wanted(struct job *j, const struct save *s, const struct packet *pk)
{
	struct seg seg;

	if (s->opts.pipe.filter && !bpf_match(s->opts.pipe.filter, pk))
		return false;
	switch (decode_packet(j->decode, pk, &seg)) {
	case DECODE_TCP:
		if (seg.len && (seg.data < pk->data || seg.data > pk->data + pk->len))
			return true;
		return conns_has(s->conns, &seg.src, &seg.dst, pk->pkt);
	case DECODE_FRAGMENT:
		return true;
	case DECODE_OTHER: case DECODE_BAD: case DECODE_LINKTYPE:
		break;
	}
	return false;
}

static bool
next_packet(const struct save *s, struct job *j, struct packet *pk)
{
	if (j->source)
		return source_next(j->source, pk) == 1 && pk->pkt <= s->last_pkt;
	return packring_next(s->ring, &j->at, pk) && pk->pkt <= s->last_pkt;
}

static int
take(struct save *s, struct job *j, const struct packet *pk, struct errmsg *em)
{
	if (j->seen++ == 0)
		j->first_seen = pk->pkt;
	if (!wanted(j, s, pk))
		return 0;
	j->written++;
	if (j->report == NULL)
		return write_packet(s, j, pk, em);
	(void)pipeline_packets(j->report, pk, 1);
	return 0;
}

/* ---- reports ---- */

static bool
is_others(void *arg, const struct finding *f)
{
	const uint32_t *n = arg;
	bool alike = f->session == *n;

	for (uint32_t i = 0; !alike && i < f->sessions_alike; i++)
		alike = f->alike[i] == *n;
	return !alike;
}

/* Of several sessions on these connections, only the one that was asked for. */
static void
narrow(struct timeline *tl, const char *key)
{
	const struct tl_session *t;
	uint32_t n = 0;

	for (uint32_t i = 0; key && (t = timeline_session(tl, i)) != NULL; i++)
		if (t->key && strcmp(t->key, key) == 0)
			n = t->n;
	if (n == 0 || timeline_session(tl, 1) == NULL)
		return;
	t = timeline_session_n(tl, n);
	timeline_pick(tl, n, 0);
	for (uint32_t i = 0; i < t->n_streams; i++)
		timeline_pick(tl, 0, t->streams[i]);
	(void)timeline_hide(tl, is_others, &n);
	timeline_show_picked(tl);
}

/* The capture's end, not that of its last packet: others' traffic went on, and
 * what a session did not do until then may be the fault. */
static ns_t
end_time(const struct save *s, const struct job *j)
{
	struct source_file f = { .path = NULL };

	if (j->source)
		(void)source_file(j->source, 0, &f);
	return f.stats.end > s->last ? f.stats.end : s->last;
}

static int
write_report(struct save *s, struct job *j, struct errmsg *em)
{
	struct text_opts o = { .all = true, .width = WIDTH };
	struct source_file f = { .path = s->opts.interface, .format = "live" };
	struct timeline *tl = pipeline_timeline(j->report);
	struct verdict *v;
	struct out out;
	int rc;

	if (j->source)
		(void)source_file(j->source, 0, &f);
	f.stats.packets = j->written;
	f.stats.end = end_time(s, j);
	if (f.path)
		pipeline_file(j->report, &f);
	pipeline_end(j->report);
	narrow(tl, j->key);
	v = verdict_new(tl);
	out_init(&out, -1);
	if (j->what == TUI_SAVE_JSON)
		sink_json(&out, tl, v, MCPDIAG_VERSION);
	else
		sink_text(&out, tl, v, &o);
	rc = write_text(j, str_of(out.p ? out.p : "", out.n), em);
	out_fini(&out);
	verdict_free(v);
	return rc;
}

/* ---- the job ---- */

static int
start(struct save *s, struct job *j, struct errmsg *em)
{
	const struct tl_session *t = s->timeline && j->session ?
	    timeline_session_n(s->timeline, j->session) : NULL;

	conns_pick(s->conns, j->session, &j->picked);
	if (j->picked.n == 0)
		return err_set(em, E_USAGE, "nothing to save: no connection of %s is known",
		    j->session ? "this session" : "any session");
	j->decode = decode_new(&s->opts.pipe.limits);
	if (t && t->key)
		j->key = xmemdup0(t->key, strlen(t->key));
	if (j->what != TUI_SAVE_PCAPNG)
		j->report = pipeline_new(&(struct pipeline_opts){
		    .limits = s->opts.pipe.limits,
		    .show_secrets = s->opts.pipe.show_secrets });
	if (s->opts.file == NULL)
		return 0;
	j->source = source_new();
	return source_add(j->source, s->opts.file, em);
}

int
save_begin(struct save *s, enum tui_save what, uint32_t session, struct str path,
    struct str ladder, struct errmsg *em)
{
	struct job *j;
	int fd, rc;

	if (s->job)
		return err_set(em, E_USAGE, "%.150s is still being written", s->job->path);
	j = xcalloc(1, sizeof *j);
	j->what = what;
	j->session = session;
	fd = make_temp(s, j, path, em);
	rc = fd < 0 ? fd : close(fd);
	if (rc == 0 && what == TUI_SAVE_LADDER)
		rc = write_text(j, ladder, em);
	else if (rc == 0)
		rc = start(s, j, em);
	if (rc < 0) {
		job_free(j);
		return rc;
	}
	s->job = j;
	return 0;
}

static void
tell(const struct save *s, const struct job *j, struct errmsg *said)
{
	struct buf b;

	buf_init(&b, 4096);
	(void)buf_fmt(&b, "%.100s: ", j->path);
	if (j->what == TUI_SAVE_LADDER)
		(void)buf_fmt(&b, "the ladder");
	else
		(void)buf_fmt(&b, "%s%llu packet%s of %u TCP connection%s",
		    j->what == TUI_SAVE_PCAPNG ? "" : "what is found in ", ULL(j->written),
		    j->written == 1 ? "" : "s", j->picked.n, j->picked.n == 1 ? "" : "s");
	if (j->picked.others)
		(void)buf_fmt(&b, "%s %u other session%s", j->what == TUI_SAVE_PCAPNG ?
		    ", with" : ", shared with", j->picked.others,
		    j->picked.others == 1 ? "" : "s");
	if (s->ring && j->first_seen > j->picked.first_pkt)
		(void)buf_fmt(&b, "; packets before %u are no longer kept (--limit ring=)",
		    j->first_seen);
	else if (j->picked.forgot)
		(void)buf_fmt(&b, "; %llu old connections are no longer known (--limit "
		    "flows=)", ULL(j->picked.forgot));
	if (j->cut)
		(void)buf_fmt(&b, "; some packets are cut");
	(void)snprintf(said->text, sizeof said->text, "%.*s", STR_ARG(buf_str(&b)));
	buf_fini(&b);
}

static int
end_job(struct save *s, struct job *j, struct errmsg *em)
{
	int rc = 0;

	if (j->report)
		rc = write_report(s, j, em);
	else if (j->what == TUI_SAVE_PCAPNG && j->file == NULL)
		rc = err_set(em, E_IO, "nothing to save: the packets are no longer kept "
		    "(--limit ring=)");
	if (j->file)
		(void)capwrite_end(j->file, end_time(s, j));
	if (j->file && capwrite_flush(j->file) != 0)
		rc = err_set(em, E_IO, "%s", capwrite_error(j->file));
	if (rc == 0)
		rc = take_name(j, em);
	if (rc == 0)
		tell(s, j, em);
	return rc;
}

int
save_turn(struct save *s, unsigned n, struct errmsg *said)
{
	struct job *j = s->job;
	struct packet pk;
	bool more = true;
	int rc = 0;

	if (j == NULL)
		return err_set(said, E_USAGE, "nothing is being saved");
	while (rc == 0 && n-- > 0 &&
	    (more = j->what != TUI_SAVE_LADDER && next_packet(s, j, &pk)))
		rc = take(s, j, &pk, said);
	if (rc == 0 && more)
		return 1;
	if (rc == 0)
		rc = end_job(s, j, said);
	job_free(j);
	s->job = NULL;
	return rc;
}

double
save_progress(const struct save *s)
{
	uint64_t all = s->packets;

	if (s->job == NULL || all == 0)
		return 0;
	if (s->ring)
		all -= packring_forgot(s->ring);
	return s->job->seen < all ? (double)s->job->seen / (double)all : 1;
}

bool
save_ask(void *arg, enum tui_save what, uint32_t session, struct str path,
    const struct buf *ladder, char *said, size_t size)
{
	struct save *s = arg;
	struct errmsg em = { "" };
	int rc = save_begin(s, what, session, path, ladder ? buf_str(ladder) : STR_NONE, &em);

	if (rc == 0)
		do
			rc = save_turn(s, AT_ONCE, &em);
		while (rc == 1);
	(void)snprintf(said, size, "%s", em.text);
	return rc == 0;
}
