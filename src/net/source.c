#include "mcpdiag/source.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mcpdiag/inflate.h"
#include "mcpdiag/xmem.h"

#define PIECE (256U << 10)
/* Enough to tell gzip, zstd and captures apart. */
#define SNIFF 4

struct file {
	char *path;
	unsigned index;
	bool is_stdin;
	bool regular;		/* can be closed and read again */
	bool follow;		/* never wait for bytes */
	bool waiting;		/* there were none, and it is not the end */
	bool begun;		/* the first piece has been handed on */
	enum inflate_kind packing;
	uint64_t size, done;	/* bytes of the file; read of it */
	ns_t t;			/* of the packet that is next */
	struct packet head;	/* that packet, once the file is open */
	/* while it is open: cap != NULL */
	int fd;
	struct capfile *cap;
	struct inflate *inflate;
	uint8_t *piece, *plain;
	struct str packed;	/* of the piece, not unpacked yet */
	bool plain_full;	/* so that more may come without input */
	bool packing_cut;	/* the packed file ends too early */
	/* what is left when it is closed */
	struct capfile_stats stats;
	const char *format;
	uint32_t linktypes[8], n_linktypes, last_linktype;
	int failed;		/* an error code: `error` says why */
	struct errmsg error;
};

struct source {
	struct file **files;
	unsigned n_files, cap_files;
	/* The files that have a packet left, as a binary heap: the next
	 * packet of the run is the next one of heap[0]. */
	struct file **heap;
	unsigned n_heap;
	bool taken;		/* the head of heap[0] has been given out */
	bool stdin_used;
	uint32_t n_packets;
	const uint8_t *last;	/* data given last, of the only file */
};

/* Only the first reason counts: the others follow from it. */
__attribute__((format(printf, 3, 4)))
static void
fail(struct file *f, int code, const char *fmt, ...)
{
	va_list ap;

	if (f->failed)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(f->error.text, sizeof f->error.text, fmt, ap);
	va_end(ap);
	f->failed = code;
}

static bool
file_open(struct file *f)
{
	struct stat st;

	f->fd = STDIN_FILENO;
	if (!f->is_stdin) {
		do
			f->fd = open(f->path, O_RDONLY | O_CLOEXEC);
		while (f->fd < 0 && errno == EINTR);
	}
	if (f->fd < 0 || fstat(f->fd, &st) != 0) {
		fail(f, E_IO, "%s", strerror(errno));
		return false;
	}
	f->regular = S_ISREG(st.st_mode) && !f->is_stdin;
	f->size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	f->done = 0;
	f->begun = false;
	f->n_linktypes = 0;
	f->last_linktype = UINT32_MAX;
	f->cap = capfile_new();
	f->piece = xmalloc(PIECE);
	return true;
}

static void
file_close(struct file *f)
{
	if (f->fd >= 0 && !f->is_stdin)
		(void)close(f->fd);
	f->fd = -1;
	capfile_free(f->cap);
	inflate_free(f->inflate);
	free(f->piece);
	free(f->plain);
	f->cap = NULL;
	f->inflate = NULL;
	f->piece = f->plain = NULL;
	f->packed = STR_NONE;
	f->plain_full = f->packing_cut = false;
}

/* A followed pipe is read when it has something, or has ended. */
static bool
would_wait(const struct file *f)
{
	struct pollfd p = { .fd = f->fd, .events = POLLIN };

	return f->follow && !f->regular && poll(&p, 1, 0) == 0;
}

/* The end of a followed file is where more will stand, unless it was cut. */
static bool
may_grow(struct file *f)
{
	struct stat st;

	if (!f->follow || !f->regular)
		return false;
	if (fstat(f->fd, &st) == 0 && (uint64_t)st.st_size < f->done) {
		fail(f, E_IO, "it became shorter while it was followed");
		return false;
	}
	return true;
}

/* Reads behind the `have` bytes that are in the piece, until it holds `least`
 * if the file has them; how many it holds. */
static size_t
fill(struct file *f, size_t have, size_t least)
{
	size_t n = have;

	f->waiting = false;
	while (n < least) {
		ssize_t got;

		if (would_wait(f)) {
			f->waiting = true;
			break;
		}
		got = read(f->fd, f->piece + n, PIECE - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			fail(f, E_IO, "%s", strerror(errno));
		if (got == 0)
			f->waiting = may_grow(f);
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	f->done += n - have;
	return n;
}

/* Lends the next unpacked bytes to the capture reader.  They are unpacked in
 * pieces too: 256 KiB may hold gigabytes.  False when there are none yet. */
static bool
feed_packed(struct file *f)
{
	size_t n = 0;

	while (n == 0 && !f->failed) {
		if (f->packed.n == 0 && !f->plain_full) {
			f->packed = str_of(f->piece, fill(f, 0, 1));
			if (f->packed.n == 0 && f->waiting)
				return false;
			if (f->packed.n == 0) {
				f->packing_cut = !inflate_done(f->inflate);
				break;
			}
		}
		if (inflate_some(f->inflate, &f->packed, f->plain, PIECE,
		    &n) != 0)
			fail(f, E_FORMAT, "damaged: cannot be unpacked as %s "
			    "from about byte %llu on", inflate_name(f->packing),
			    (unsigned long long)(f->done - f->packed.n));
		f->plain_full = n == PIECE;
	}
	if (n)
		capfile_feed(f->cap, f->plain, n);
	else
		capfile_eof(f->cap);
	return true;
}

/* The first piece tells whether the file is packed. */
static bool
feed_first(struct file *f)
{
	size_t n = fill(f, (size_t)f->done, SNIFF);

	if (f->waiting)
		return false;
	f->begun = true;
	f->packing = inflate_sniff(f->piece, n);
	if (f->packing == INFLATE_NONE) {
		if (n)
			capfile_feed(f->cap, f->piece, n);
		else
			capfile_eof(f->cap);
		return true;
	}
	f->inflate = inflate_new(f->packing, UINT64_MAX, 0, NULL, NULL);
	f->plain = xmalloc(PIECE);
	f->packed = str_of(f->piece, n);
	return feed_packed(f);
}

/* False when a followed file has no more for now. */
static bool
feed(struct file *f)
{
	size_t n;

	if (f->failed) {
		capfile_eof(f->cap);
		return true;
	}
	if (!f->begun)
		return feed_first(f);
	if (f->inflate)
		return feed_packed(f);
	n = fill(f, 0, 1);
	if (n)
		capfile_feed(f->cap, f->piece, n);
	else if (f->waiting)
		return false;
	else
		capfile_eof(f->cap);
	return true;
}

static void
note_linktype(struct file *f, uint32_t linktype)
{
	f->last_linktype = linktype;
	for (uint32_t i = 0; i < f->n_linktypes; i++)
		if (f->linktypes[i] == linktype)
			return;
	if (f->n_linktypes < sizeof f->linktypes / sizeof f->linktypes[0])
		f->linktypes[f->n_linktypes++] = linktype;
}

/* Nothing more comes of this file: closes it and keeps what was learnt. */
static void
file_end(struct file *f)
{
	const char *why = capfile_error(f->cap);

	if (why && f->inflate)
		fail(f, E_FORMAT, "inside %s: %s", inflate_name(f->packing),
		    why);
	else if (why)
		fail(f, E_FORMAT, "%s", why);
	f->stats = *capfile_stats(f->cap);
	f->stats.cut |= f->packing_cut;
	f->format = capfile_format(f->cap);
	file_close(f);
}

/* The next packet of the open file; false when there is none, and then the
 * file is closed, unless it is waiting for more. */
static bool
file_next(struct file *f, struct packet *out)
{
	for (;;) {
		switch (capfile_next(f->cap, out)) {
		case CAPFILE_PACKET:
			if (out->linktype != f->last_linktype)
				note_linktype(f, out->linktype);
			return true;
		case CAPFILE_MORE:
			if (!feed(f))
				return false;
			continue;
		case CAPFILE_END: case CAPFILE_BAD:
			file_end(f);
			return false;
		}
	}
}

static bool
before(const struct file *a, const struct file *b)
{
	return a->t < b->t || (a->t == b->t && a->index < b->index);
}

static void
heap_add(struct source *s, struct file *f)
{
	unsigned i = s->n_heap++;

	for (; i && before(f, s->heap[(i - 1) / 2]); i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = f;
}

/* heap[0] has got another packet as its next one, or (false) has none left:
 * restores the order. */
static void
heap_change(struct source *s, bool has_packet)
{
	struct file *f = s->heap[0];
	unsigned i = 0, child;

	if (has_packet)
		f->t = f->head.t;
	else
		f = s->heap[--s->n_heap];
	while ((child = 2 * i + 1) < s->n_heap) {
		if (child + 1 < s->n_heap &&
		    before(s->heap[child + 1], s->heap[child]))
			child++;
		if (!before(s->heap[child], f))
			break;
		s->heap[i] = s->heap[child];
		i = child;
	}
	s->heap[i] = f;
}

/* Steps past the packet that was given out. */
static void
settle(struct source *s)
{
	if (s->taken)
		heap_change(s, file_next(s->heap[0], &s->heap[0]->head));
	s->taken = false;
}

/* Reads up to the first packet, whose time says when it is the file's turn,
 * and closes the file until then, unless it cannot be read twice. */
static bool
file_peek(struct file *f)
{
	if (!file_open(f) || !file_next(f, &f->head))
		return false;
	f->t = f->head.t;
	if (f->regular) {
		f->format = capfile_format(f->cap);
		file_close(f);
		f->done = 0;
		f->n_linktypes = 0;
		f->failed = 0;		/* it will fail again, in its turn */
	}
	return true;
}

static void
file_free(struct file *f)
{
	file_close(f);
	free(f->path);
	free(f);
}

struct source *
source_new(void)
{
	return xcalloc(1, sizeof(struct source));
}

void
source_free(struct source *s)
{
	if (s == NULL)
		return;
	for (unsigned i = 0; i < s->n_files; i++)
		file_free(s->files[i]);
	free(s->files);
	free(s->heap);
	free(s);
}

static struct file *
file_new(const struct source *s, const char *path)
{
	struct file *f = xcalloc(1, sizeof *f);

	f->path = xmemdup0(path, strlen(path));
	f->is_stdin = strcmp(path, "-") == 0;
	f->index = s->n_files;
	f->fd = -1;
	return f;
}

static void
keep(struct source *s, struct file *f)
{
	s->stdin_used |= f->is_stdin;
	if (s->n_files == s->cap_files) {
		s->cap_files = s->cap_files ? s->cap_files * 2 : 4;
		s->files = xrealloc(s->files,
		    s->cap_files * sizeof *s->files);
		s->heap = xrealloc(s->heap, s->cap_files * sizeof *s->heap);
	}
	s->files[s->n_files++] = f;
}

int
source_add(struct source *s, const char *path, struct errmsg *em)
{
	struct file *f;
	bool has_packet;

	settle(s);
	if (strcmp(path, "-") == 0 && s->stdin_used)
		return err_set(em, E_USAGE, "-: standard input can be read "
		    "only once");
	f = file_new(s, path);
	has_packet = file_peek(f);
	if (f->failed && !has_packet) {
		int rc = err_set(em, f->failed, "%s: %s", path, f->error.text);

		file_free(f);
		return rc;
	}
	keep(s, f);
	if (has_packet)
		heap_add(s, f);
	return 0;
}

int
source_follow(struct source *s, const char *path, int *fd, struct errmsg *em)
{
	struct file *f;

	assert(s->n_files == 0);
	*fd = -1;
	f = file_new(s, path);
	f->follow = true;
	if (!file_open(f)) {
		int rc = err_set(em, f->failed, "%s: %s", path, f->error.text);

		file_free(f);
		return rc;
	}
	keep(s, f);
	s->heap[s->n_heap++] = f;
	s->taken = true;		/* nothing precedes its first packet */
	if (!f->regular)
		*fd = f->fd;
	return 0;
}

int
source_next(struct source *s, struct packet *out)
{
	struct file *f;

	/* One file alone: straight into *out. */
	if (s->taken && s->n_heap == 1) {
		if (file_next(s->heap[0], out)) {
			out->pkt = ++s->n_packets;
			s->last = out->data;
			return 1;
		}
		s->last = NULL;
		if (s->heap[0]->waiting) {
			*out = (struct packet){ 0 };
			return SOURCE_LATER;
		}
		s->n_heap = 0;
		s->taken = false;
	}
	settle(s);
	while (s->n_heap) {
		f = s->heap[0];
		if (f->cap) {
			*out = f->head;
			out->pkt = ++s->n_packets;
			s->taken = true;
			s->last = NULL;
			return 1;
		}
		heap_change(s, file_open(f) && file_next(f, &f->head));
	}
	*out = (struct packet){ 0 };
	return 0;
}

unsigned
source_more(struct source *s, struct packet *out, unsigned max)
{
	struct file *f = s->n_heap ? s->heap[0] : NULL;
	const uint8_t *from, *last = s->last;
	unsigned n = 0;

	if (!s->taken || s->n_heap != 1 || f->cap == NULL)
		return 0;
	/* A record that was joined from two pieces lies where the next one
	 * will be joined: nothing may follow it. */
	from = f->inflate ? f->plain : f->piece;
	if (last < from || last >= from + PIECE)
		return 0;
	while (n < max && capfile_next(f->cap, &out[n]) == CAPFILE_PACKET) {
		if (out[n].linktype != f->last_linktype)
			note_linktype(f, out[n].linktype);
		out[n++].pkt = ++s->n_packets;
	}
	return n;
}

bool
source_file(const struct source *s, unsigned i, struct source_file *out)
{
	const struct file *f;

	*out = (struct source_file){ 0 };
	if (i >= s->n_files)
		return false;
	f = s->files[i];
	out->path = f->path;
	out->format = f->cap ? capfile_format(f->cap) : f->format;
	out->packing = f->packing == INFLATE_NONE ? NULL :
	    inflate_name(f->packing);
	out->stats = f->cap ? *capfile_stats(f->cap) : f->stats;
	memcpy(out->linktypes, f->linktypes, sizeof out->linktypes);
	out->n_linktypes = f->n_linktypes;
	out->error = f->failed ? f->error.text : NULL;
	return true;
}

void
source_progress(const struct source *s, uint64_t *done, uint64_t *total)
{
	bool known = true;

	*done = *total = 0;
	for (unsigned i = 0; i < s->n_files; i++) {
		*done += s->files[i]->done;
		*total += s->files[i]->size;
		known &= s->files[i]->size > 0;
	}
	if (!known)
		*total = 0;
}
