#include "record.h"

#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/capwrite.h"
#include "mcpdiag/xmem.h"

#define BLOCK 32		/* bytes that a packet's block adds to it */

struct record {
	struct capwrite *file;
	char *path, *interface;
	uint32_t linktype;
	uint64_t size, written, left_out;
	unsigned count, n;		/* files of the ring, and this one */
	bool failed;
};

static int
open_file(struct record *r, struct errmsg *em)
{
	struct capwrite_opts o = { .linktype = r->linktype,
		.application = "mcpdiag " MCPDIAG_VERSION, .interface = r->interface };
	char path[4096], last[16];
	int digits = r->count > 1 ? snprintf(last, sizeof last, "%u", r->count - 1) : 1;

	if (r->size == 0)
		(void)snprintf(path, sizeof path, "%s", r->path);
	else
		(void)snprintf(path, sizeof path, "%s%0*u", r->path, digits, r->n);
	r->file = capwrite_new(path, &o, em);
	r->written = 0;
	return r->file ? 0 : -E_IO;
}

struct record *
record_new(const char *path, uint32_t linktype, uint64_t size, unsigned count,
    const char *interface, struct errmsg *em)
{
	struct record *r = xcalloc(1, sizeof *r);

	r->path = xmemdup0(path, strlen(path));
	r->interface = interface ? xmemdup0(interface, strlen(interface)) : NULL;
	r->linktype = linktype;
	r->size = size;
	r->count = count;
	if (open_file(r, em) == 0)
		return r;
	record_free(r);
	return NULL;
}

void
record_free(struct record *r)
{
	if (r == NULL)
		return;
	capwrite_free(r->file);
	free(r->path);
	free(r->interface);
	free(r);
}

static int
fail(struct record *r, struct errmsg *em)
{
	r->failed = true;
	return err_set(em, E_IO, "%s: %s", r->path, capwrite_error(r->file));
}

static int
next_file(struct record *r, struct errmsg *em)
{
	if (capwrite_flush(r->file) != 0)
		return fail(r, em);
	capwrite_free(r->file);
	r->n++;
	if (r->count > 0)
		r->n %= r->count;
	if (open_file(r, em) == 0)
		return 0;
	r->failed = true;
	return -E_IO;
}

int
record_packet(struct record *r, const struct packet *pk, struct errmsg *em)
{
	int rc = 0;

	em->text[0] = '\0';
	if (r->failed)
		return -E_IO;
	if (pk->linktype != r->linktype) {
		r->left_out++;
		return 0;
	}
	if (r->size > 0 && r->written >= r->size)
		rc = next_file(r, em);
	if (rc != 0)
		return rc;
	r->written += pk->len + BLOCK;
	return capwrite_packet(r->file, pk->t, pk->data, pk->len, pk->wire_len) == 0 ? 0 :
	    fail(r, em);
}

int
record_flush(struct record *r, struct errmsg *em)
{
	em->text[0] = '\0';
	if (r->failed)
		return -E_IO;
	return capwrite_flush(r->file) == 0 ? 0 : fail(r, em);
}

uint64_t
record_left_out(const struct record *r)
{
	return r->left_out;
}
