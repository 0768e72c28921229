#include "finding_json.h"

#include <math.h>
#include <stdio.h>

void
json_seconds(struct out *o, ns_t t)
{
	uint64_t v = t < 0 ? 0 - (uint64_t)t : (uint64_t)t;
	uint64_t ns = v % NS_S;
	char frac[10] = ".";

	if (t < 0)
		out_c(o, "-");
	out_u64(o, v / NS_S);
	for (int i = 9; i > 0; i--, ns /= 10)
		frac[i] = (char)('0' + ns % 10);
	out_add(o, frac, sizeof frac);
}

/* Whole numbers stay whole; others keep three decimals at most. */
static void
number(struct out *o, double v)
{
	char text[64];
	size_t n;

	if (!isfinite(v) || fabs(v) > 9e15) {
		out_c(o, "null");
		return;
	}
	(void)snprintf(text, sizeof text, "%.3f", v);
	n = strlen(text);
	while (text[n - 1] == '0')
		n--;
	if (text[n - 1] == '.')
		n--;
	out_add(o, text, n);
}

static void
fact(struct out *o, const struct fact *f)
{
	out_json(o, str_c(f->name));
	out_c(o, ": ");
	switch (f->type) {
	case FACT_NUM:
	case FACT_MS:
		number(o, f->num);
		return;
	case FACT_TEXT:
		out_json(o, f->text);
		return;
	case FACT_BOOL:
		out_c(o, f->num != 0 ? "true" : "false");
		return;
	}
}

static void
evidence(struct out *o, const struct evidence *e, const struct json_times *times)
{
	out_fmt(o, "{\"packet\": %u, ", e->at.pkt);
	if (times->absolute) {
		out_c(o, "\"ns\": ");
		out_i64(o, e->at.t);
	} else {
		out_c(o, "\"t\": ");
		json_seconds(o, e->at.t - times->zero);
	}
	out_c(o, ", \"what\": ");
	out_json(o, e->what);
	out_c(o, "}");
}

void
finding_members(struct out *o, const struct finding *f, const struct json_times *times)
{
	out_c(o, ", \"detector\": ");
	out_json(o, str_c(f->detector));
	out_c(o, ", \"variant\": ");
	out_json(o, str_c(f->variant));
	out_fmt(o, ", \"severity\": \"%s\", \"confidence\": \"%s\", \"streams\": [",
	    severity_name(f->severity), confidence_name(f->confidence));
	for (uint32_t i = 0; i < f->n_streams; i++)
		out_fmt(o, "%s%u", i ? ", " : "", f->streams[i]);
	out_fmt(o, "], \"first_packet\": %u, \"last_packet\": %u, \"count\": ",
	    f->first.pkt, f->last.pkt);
	out_u64(o, f->count);
	out_c(o, ", \"period_ms\": ");
	if (f->period > 0)
		number(o, (double)f->period / NS_MS);
	else
		out_c(o, "null");
	out_c(o, ", \"title\": ");
	out_json(o, f->title);
	out_c(o, ", \"why\": ");
	out_json(o, f->why);
	out_c(o, ", \"facts\": {");
	for (uint32_t i = 0; i < f->n_facts; i++) {
		out_c(o, i ? ", " : "");
		fact(o, &f->facts[i]);
	}
	out_c(o, "}, \"evidence\": [");
	for (uint32_t i = 0; i < f->n_evidence; i++) {
		out_c(o, i ? ", " : "");
		evidence(o, &f->evidence[i], times);
	}
	out_c(o, "], \"fix\": ");
	out_json(o, f->fix);
	out_c(o, ", \"reference\": ");
	out_json(o, str_c(f->reference));
	out_fmt(o, ", \"sessions_alike\": %u", f->sessions_alike);
	out_c(o, ", \"consequence_of\": ");
	if (f->consequence_of)
		out_u64(o, f->consequence_of);
	else
		out_c(o, "null");
}
