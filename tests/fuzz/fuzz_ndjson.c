/* An event file of any bytes, through the reader, the rules and the sinks; what
 * is written again is read as the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mcpdiag/ndjson.h"
#include "mcpdiag/pipeline.h"
#include "mcpdiag/sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

struct copy {
	struct out o;
	struct ndjson *nd;
};

static void
write_again(void *arg, const struct ev *e)
{
	struct copy *c = arg;

	ndjson_event(c->nd, e);
}

static void
copy_of(struct copy *c, const void *bytes, size_t n, size_t step)
{
	struct ndjson_in *in = ndjson_in_new(write_again, c);
	const char *p = bytes;

	out_init(&c->o, -1);
	c->nd = ndjson_new(&c->o);
	for (size_t i = 0; i < n; i += step)
		ndjson_in_feed(in, p + i, step < n - i ? step : n - i);
	ndjson_in_eof(in);
	ndjson_in_free(in);
	ndjson_free(c->nd);
}

static void
to_pipeline(void *arg, const struct ev *e)
{
	pipeline_event(arg, e);
}

static void
analyze(const uint8_t *bytes, size_t n)
{
	struct pipeline_opts opts = { .tap = NULL };
	struct ndjson_in *in;
	struct pipeline *p;
	struct verdict *v;
	struct text_opts text = { .all = true, .width = 80 };
	static const char *const detectors[] = { "leapfrog", NULL };
	const struct junit_opts junit = { .detectors = detectors, .fail = true };
	struct out o;

	limits_init(&opts.limits);
	if (n % 2)
		limits_shrink(&opts.limits, 64);
	p = pipeline_new(&opts);
	in = ndjson_in_new(to_pipeline, p);
	ndjson_in_feed(in, bytes, n);
	ndjson_in_eof(in);
	pipeline_end(p);
	v = verdict_new(pipeline_timeline(p));
	out_init(&o, -1);
	sink_json(&o, pipeline_timeline(p), v, "fuzz");
	sink_text(&o, pipeline_timeline(p), v, &text);
	sink_markdown(&o, pipeline_timeline(p), v, "fuzz");
	sink_junit(&o, pipeline_timeline(p), v, &junit);
	out_fini(&o);
	verdict_free(v);
	ndjson_in_free(in);
	pipeline_free(p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct copy a, b, c;

	copy_of(&a, bytes, n, n + 1);
	copy_of(&b, bytes, n, 1);
	copy_of(&c, a.o.p, a.o.n, a.o.n + 1);
	if (a.o.n != b.o.n || memcmp(a.o.p, b.o.p, a.o.n) != 0 ||
	    a.o.n != c.o.n || memcmp(a.o.p, c.o.p, a.o.n) != 0)
		abort();
	out_fini(&a.o);
	out_fini(&b.o);
	out_fini(&c.o);
	analyze(bytes, n);
	return 0;
}
