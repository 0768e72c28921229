#include "mcpdiag/capwrite.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/xmem.h"

/* Blocks and options: draft-ietf-opsawg-pcapng 3.5, 4.1, 4.2, 4.3, 4.6. */
#define BLOCK_SHB 0x0a0d0d0aU
#define BLOCK_IDB 1U
#define BLOCK_ISB 5U
#define BLOCK_EPB 6U
#define ORDER_MAGIC 0x1a2b3c4dU
#define OPT_END 0
#define OPT_COMMENT 1
#define SHB_USERAPPL 4
#define IDB_NAME 2
#define IDB_TSRESOL 9
#define ISB_ENDTIME 3
#define OPTION_MAX 65535U

#define GATHER (64U << 10)
/* The longest block: a packet, or the texts of a header. */
#define BLOCK_MAX (CAPWRITE_PACKET_MAX + 4 * OPTION_MAX)

struct capwrite {
	int fd;
	char *path;
	struct buf out;		/* whole blocks, not written yet */
	off_t written;		/* whole blocks that are */
	size_t begun;		/* where in `out` the block in work starts */
	uint32_t interfaces;
	struct errmsg error;
	bool given;		/* stdout: what it held before is not ours */
	bool failed;
};

/* Numbers stand in the byte order of this machine: the magic tells it. */
static void
u16(struct buf *b, uint16_t v)
{
	(void)buf_add(b, &v, sizeof v);
}

static void
u32(struct buf *b, uint32_t v)
{
	(void)buf_add(b, &v, sizeof v);
}

/* Bytes, padded to 32 bits. */
static void
padded(struct buf *b, const void *p, size_t n)
{
	(void)buf_add(b, p, n);
	(void)buf_add(b, "\0\0", -n & 3);
}

static void
option(struct buf *b, uint16_t code, const void *p, size_t n)
{
	u16(b, code);
	u16(b, (uint16_t)n);
	padded(b, p, n);
}

static void
text(struct buf *b, uint16_t code, const char *s)
{
	struct str t = str_c(s);

	if (s != NULL)
		option(b, code, t.p, t.n < OPTION_MAX ? t.n : OPTION_MAX);
}

static void
begin(struct capwrite *w, uint32_t type)
{
	w->begun = w->out.n;
	u32(&w->out, type);
	u32(&w->out, 0);		/* end() knows the length */
}

static void
end(struct capwrite *w)
{
	uint32_t n = (uint32_t)(w->out.n - w->begun + 4);

	u32(&w->out, n);
	memcpy(w->out.p + w->begun + 4, &n, sizeof n);
}

static int
fail(struct capwrite *w, int err)
{
	w->failed = true;
	buf_fini(&w->out);
	/* A torn block would make the file a damaged one; where it cannot be
	 * cut (a pipe), readers have to cope. */
	if (!w->given)
		(void)(ftruncate(w->fd, w->written) == 0 &&
		    lseek(w->fd, w->written, SEEK_SET) == w->written);
	return err_set(&w->error, E_IO, "%s: %s; nothing more is written to it",
	    w->path, strerror(err));
}

static void
interface(struct capwrite *w, uint32_t linktype, const char *name, const char *comment)
{
	static const uint8_t nanoseconds = 9;

	begin(w, BLOCK_IDB);
	u16(&w->out, (uint16_t)linktype);
	u16(&w->out, 0);
	u32(&w->out, 0);		/* snap length: no limit */
	text(&w->out, OPT_COMMENT, comment);
	text(&w->out, IDB_NAME, name);
	option(&w->out, IDB_TSRESOL, &nanoseconds, 1);
	option(&w->out, OPT_END, NULL, 0);
	end(w);
	w->interfaces++;
}

static void
file_header(struct capwrite *w, const struct capwrite_opts *o)
{
	begin(w, BLOCK_SHB);
	u32(&w->out, ORDER_MAGIC);
	u16(&w->out, 1);		/* version 1.0 */
	u16(&w->out, 0);
	u32(&w->out, UINT32_MAX);	/* length of the section: not known */
	u32(&w->out, UINT32_MAX);
	text(&w->out, OPT_COMMENT, o->comment);
	text(&w->out, SHB_USERAPPL, o->application);
	option(&w->out, OPT_END, NULL, 0);
	end(w);
	interface(w, o->linktype, o->interface, o->comment);
}

struct capwrite *
capwrite_new(const char *path, const struct capwrite_opts *o, struct errmsg *em)
{
	struct capwrite *w;
	bool given = strcmp(path, "-") == 0;
	/* As dumpcap does: what people said is nobody else's business. */
	int fd = given ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3) :
	    open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert(o->linktype <= UINT16_MAX);
	if (fd < 0) {
		(void)err_set(em, E_IO, "%s: cannot be written: %s", path,
		    strerror(errno));
		return NULL;
	}
	w = xcalloc(1, sizeof *w);
	w->fd = fd;
	w->given = given;
	w->path = xmemdup0(path, strlen(path));
	buf_init(&w->out, GATHER + BLOCK_MAX);
	file_header(w, o);
	/* A full disk is better told now than at the end. */
	if (capwrite_flush(w) < 0) {
		(void)err_set(em, E_IO, "%s", w->error.text);
		capwrite_free(w);
		return NULL;
	}
	return w;
}

void
capwrite_free(struct capwrite *w)
{
	if (w == NULL)
		return;
	(void)capwrite_flush(w);
	(void)close(w->fd);
	buf_fini(&w->out);
	free(w->path);
	free(w);
}

uint32_t
capwrite_interface(struct capwrite *w, uint32_t linktype, const char *name)
{
	assert(linktype <= UINT16_MAX);
	if (w->failed)
		return 0;
	interface(w, linktype, name, NULL);
	return w->interfaces - 1;
}

int
capwrite_on(struct capwrite *w, uint32_t on, ns_t t, const void *p, size_t n,
    size_t wire_n)
{
	uint32_t kept = n < CAPWRITE_PACKET_MAX ? (uint32_t)n :
	    CAPWRITE_PACKET_MAX;
	uint64_t ticks = t > 0 ? (uint64_t)t : 0;

	assert(wire_n >= n && on < w->interfaces);
	if (w->failed)
		return -E_IO;
	begin(w, BLOCK_EPB);
	u32(&w->out, on);
	u32(&w->out, (uint32_t)(ticks >> 32));
	u32(&w->out, (uint32_t)ticks);
	u32(&w->out, kept);
	u32(&w->out, wire_n < UINT32_MAX ? (uint32_t)wire_n : UINT32_MAX);
	padded(&w->out, p, kept);
	end(w);
	return w->out.n < GATHER ? 0 : capwrite_flush(w);
}

int
capwrite_packet(struct capwrite *w, ns_t t, const void *p, size_t n, size_t wire_n)
{
	return capwrite_on(w, 0, t, p, n, wire_n);
}

int
capwrite_end(struct capwrite *w, ns_t t)
{
	uint64_t ticks = t > 0 ? (uint64_t)t : 0;
	uint32_t words[2] = { (uint32_t)(ticks >> 32), (uint32_t)ticks };

	if (w->failed)
		return -E_IO;
	begin(w, BLOCK_ISB);
	u32(&w->out, 0);		/* interface */
	u32(&w->out, words[0]);
	u32(&w->out, words[1]);
	option(&w->out, ISB_ENDTIME, words, sizeof words);
	option(&w->out, OPT_END, NULL, 0);
	end(w);
	return 0;
}

int
capwrite_flush(struct capwrite *w)
{
	size_t done = 0;
	ssize_t n;

	if (w->failed)
		return -E_IO;
	while (done < w->out.n) {
		n = write(w->fd, w->out.p + done, w->out.n - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail(w, n < 0 ? errno : ENOSPC);
		done += (size_t)n;
	}
	w->written += (off_t)done;
	buf_clear(&w->out);
	return 0;
}

const char *
capwrite_error(const struct capwrite *w)
{
	return w->failed ? w->error.text : NULL;
}
