/* A whole capture, from its bytes to every form of output.  The first byte
 * says whether all limits are divided by 64; the rest is the file.  The events
 * must come back from an event file as the same documents. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mcpdiag/capfile.h"
#include "mcpdiag/ndjson.h"
#include "mcpdiag/pipeline.h"
#include "mcpdiag/sink.h"

#define MAX_PACKETS 20000

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
print(struct out *o, const struct timeline *tl, int form)
{
	struct verdict *v = verdict_new(tl);
	struct text_opts opts = { .all = form == 2, .width = 80 };

	out_init(o, -1);
	if (form == 0)
		sink_json(o, tl, v, "fuzz");
	else
		sink_text(o, tl, v, &opts);
	verdict_free(v);
}

static void
to_ndjson(void *arg, const struct ev *e)
{
	ndjson_event(arg, e);
}

static void
to_pipeline(void *arg, const struct ev *e)
{
	pipeline_event(arg, e);
}

static void
read_packets(struct pipeline *p, const uint8_t *bytes, size_t n)
{
	struct capfile *cap = capfile_new();
	struct packet pk;
	uint32_t count = 0;
	bool fed = false, more = true;

	while (more)
		switch (capfile_next(cap, &pk)) {
		case CAPFILE_PACKET:
			pk.pkt = ++count;
			(void)pipeline_packets(p, &pk, 1);
			more = count < MAX_PACKETS;
			break;
		case CAPFILE_MORE:
			if (fed)
				capfile_eof(cap);
			else
				capfile_feed(cap, bytes, n);
			fed = true;
			break;
		case CAPFILE_END: case CAPFILE_BAD:
			more = false;
			break;
		}
	capfile_free(cap);
}

/* A time beyond what an event file may hold makes its line a bad one. */
static void
same_from_events(const struct pipeline_opts *opts, const struct out *file,
    const struct timeline *tl)
{
	struct pipeline_opts again = *opts;
	struct ndjson_in *in;
	struct pipeline *p;
	struct out a, b;

	again.tap = NULL;
	p = pipeline_new(&again);
	in = ndjson_in_new(to_pipeline, p);
	ndjson_in_feed(in, file->p, file->n);
	ndjson_in_eof(in);
	pipeline_end(p);
	for (int form = 0; form < 3 && ndjson_in_stats(in)->bad == 0; form++) {
		print(&a, tl, form);
		print(&b, pipeline_timeline(p), form);
		if (a.n != b.n || memcmp(a.p, b.p, a.n) != 0)
			abort();
		out_fini(&a);
		out_fini(&b);
	}
	ndjson_in_free(in);
	pipeline_free(p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct pipeline_opts opts = { .tap = to_ndjson };
	struct pipeline *p;
	struct ndjson *nd;
	struct out file;

	if (n == 0)
		return 0;
	limits_init(&opts.limits);
	if (bytes[0] & 1)
		limits_shrink(&opts.limits, 64);
	opts.show_secrets = bytes[0] & 2;
	out_init(&file, -1);
	nd = ndjson_new(&file);
	opts.arg = nd;
	p = pipeline_new(&opts);
	read_packets(p, bytes + 1, n - 1);
	pipeline_end(p);
	same_from_events(&opts, &file, pipeline_timeline(p));
	pipeline_free(p);
	ndjson_free(nd);
	out_fini(&file);
	return 0;
}
