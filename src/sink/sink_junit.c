#include "mcpdiag/sink.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "mcpdiag/esc.h"

#define MAX_TEXT 8192		/* bytes of one string */

struct report {
	struct out *o;
	const struct timeline *tl;
	const struct verdict *v;
	const struct junit_opts *opts;
	ns_t zero;
};

/* XML has no way to write most control bytes: what is not text is made visible
 * first, then what is markup is escaped.  U+FFFE and U+FFFF are no characters
 * of XML (1.0, section 2.2). */
static void
xml(struct report *r, struct str s)
{
	struct buf b;

	buf_init(&b, 8 * MAX_TEXT);
	esc_text(&b, s, MAX_TEXT);
	for (size_t i = 0; i < b.n; i++) {
		const char *p = b.p + i;

		if (*p == '&')
			out_c(r->o, "&amp;");
		else if (*p == '<')
			out_c(r->o, "&lt;");
		else if (*p == '>')
			out_c(r->o, "&gt;");
		else if (*p == '"')
			out_c(r->o, "&quot;");
		else if (*p == '\'')
			out_c(r->o, "&#39;");
		else if (b.n - i >= 3 && memcmp(p, "\xef\xbf", 2) == 0 &&
		    ((unsigned char)p[2] & 0xfe) == 0xbe) {
			out_fmt(r->o, "\\u{fff%c}", (unsigned char)p[2] & 1 ? 'f' : 'e');
			i += 2;
		} else
			out_add(r->o, p, 1);
	}
	buf_fini(&b);
}

static void __attribute__((format(printf, 2, 3)))
say(struct report *r, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	xml(r, str_c(text));
}

static bool
fails(const struct report *r, const struct finding *f)
{
	return r->opts->fail && f->severity >= r->opts->fail_on;
}

static bool
is_of(const struct finding *f, const char *detector)
{
	return strcmp(f->detector, detector) == 0;
}

/* How many findings of a detector fail, or with `failing` false do not. */
static uint32_t
count(const struct report *r, const char *detector, bool failing)
{
	const struct finding *f;
	uint32_t n = 0;

	for (uint32_t i = 0; (f = timeline_finding(r->tl, i)) != NULL; i++)
		n += is_of(f, detector) && fails(r, f) == failing;
	return n;
}

static void
finding(struct report *r, const struct finding *f)
{
	const struct tl_session *s = timeline_session_n(r->tl, f->session);

	say(r, "%s  %s%s%s%s, %s confidence", severity_name(f->severity), f->detector,
	    f->variant ? " (" : "", f->variant ? f->variant : "", f->variant ? ")" : "",
	    confidence_name(f->confidence));
	if (f->count > 1)
		say(r, ", %" PRIu64 " times", f->count);
	if (f->first.pkt)
		say(r, ", packets %u to %u", f->first.pkt, f->last.pkt);
	if (s && s->key) {
		say(r, ", session ");
		xml(r, str_c(s->key));
	}
	if (f->sessions_alike)
		say(r, " and %u alike", f->sessions_alike);
	out_c(r->o, "\n");
	xml(r, f->title);
	out_c(r->o, "\n");
	xml(r, f->why);
	out_c(r->o, "\n");
	for (uint32_t i = 0; i < f->n_evidence; i++) {
		say(r, "packet %u  %+.3f s  ", f->evidence[i].at.pkt,
		    (double)(f->evidence[i].at.t - r->zero) / NS_S);
		xml(r, f->evidence[i].what);
		out_c(r->o, "\n");
	}
	say(r, "fix: ");
	xml(r, f->fix);
	out_c(r->o, "\n");
}

static void
findings(struct report *r, const char *detector, bool failing)
{
	const struct finding *f;
	bool more = false;

	for (uint32_t i = 0; (f = timeline_finding(r->tl, i)) != NULL; i++) {
		if (!is_of(f, detector) || fails(r, f) != failing)
			continue;
		out_c(r->o, more ? "\n" : "");
		finding(r, f);
		more = true;
	}
}

static void
open_case(struct report *r, const char *name)
{
	out_c(r->o, "    <testcase classname=\"mcpdiag\" name=\"");
	xml(r, str_c(name));
	out_c(r->o, "\" time=\"0\">\n");
}

static void
close_case(struct report *r)
{
	out_c(r->o, "    </testcase>\n");
}

static void
detector_case(struct report *r, const char *detector)
{
	uint32_t n = count(r, detector, true);
	const struct finding *f;

	open_case(r, detector);
	for (uint32_t i = 0; n && (f = timeline_finding(r->tl, i)) != NULL; i++) {
		if (!is_of(f, detector) || !fails(r, f))
			continue;
		out_fmt(r->o, "      <failure type=\"%s\" message=\"",
		    severity_name(f->severity));
		xml(r, f->title);
		if (n > 1)
			say(r, "; and %u more", n - 1);
		out_c(r->o, "\">");
		findings(r, detector, true);
		out_c(r->o, "</failure>\n");
		break;
	}
	if (count(r, detector, false)) {
		out_c(r->o, "      <system-out>");
		findings(r, detector, false);
		out_c(r->o, "</system-out>\n");
	}
	close_case(r);
}

/* Whether the capture lets a verdict be given. */
static void
capture_case(struct report *r)
{
	bool red = r->v->hidden && r->opts->fail && !r->opts->allow_incomplete;

	open_case(r, "capture");
	for (uint32_t i = 0, n = 0; i < r->v->n_reasons; i++) {
		const struct reason *k = &r->v->reasons[i];

		if (!k->hides)
			continue;
		if (n++ == 0) {
			out_fmt(r->o, "      <%s message=\"", red ? "error type=\"incomplete\"" :
			    "skipped");
			xml(r, str_c(k->text));
			out_c(r->o, red ? "\">" : "\"/>\n");
		}
		if (red) {
			xml(r, str_c(k->text));
			out_c(r->o, "\n");
		}
	}
	out_c(r->o, red ? "</error>\n" : "");
	close_case(r);
}

static uint32_t
n_stale(const struct report *r)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->v->n_reasons; i++)
		n += r->v->reasons[i].fails;
	return r->opts->fail ? n : 0;
}

static void
baseline_case(struct report *r)
{
	open_case(r, "baseline");
	out_fmt(r->o, "      <failure type=\"stale\" message=\"%u stale\">", n_stale(r));
	for (uint32_t i = 0; i < r->v->n_reasons; i++) {
		if (!r->v->reasons[i].fails)
			continue;
		xml(r, str_c(r->v->reasons[i].text));
		out_c(r->o, "\n");
	}
	out_c(r->o, "</failure>\n");
	close_case(r);
}

/* The verdict, what was read, and the notes. */
static void
summary(struct report *r)
{
	out_c(r->o, "    <system-out>");
	xml(r, str_c(r->v->text));
	out_c(r->o, "\n");
	for (uint32_t i = 0; i < r->v->n_reasons; i++) {
		say(r, "note: ");
		xml(r, str_c(r->v->reasons[i].text));
		out_c(r->o, "\n");
	}
	out_c(r->o, "</system-out>\n");
}

static bool
is_first_of_its_kind(const struct report *r, uint32_t i)
{
	const char *detector = timeline_finding(r->tl, i)->detector;

	for (size_t k = 0; r->opts->detectors[k]; k++)
		if (strcmp(r->opts->detectors[k], detector) == 0)
			return false;
	for (uint32_t k = 0; k < i; k++)
		if (is_of(timeline_finding(r->tl, k), detector))
			return false;
	return true;
}

void
sink_junit(struct out *o, const struct timeline *tl, const struct verdict *v,
    const struct junit_opts *opts)
{
	struct report r = { o, tl, v, opts, timeline_total(tl)->u.total.first };
	const struct ev *t = timeline_total(tl);
	uint32_t n_cases = 1, n_failures = 0, stale = n_stale(&r);
	bool red = v->hidden && opts->fail && !opts->allow_incomplete;
	char sums[160];

	for (size_t i = 0; opts->detectors[i]; i++) {
		n_cases++;
		n_failures += count(&r, opts->detectors[i], true) > 0;
	}
	for (uint32_t i = 0; timeline_finding(tl, i); i++)
		if (is_first_of_its_kind(&r, i)) {
			n_cases++;
			n_failures += count(&r, timeline_finding(tl, i)->detector, true) > 0;
		}
	n_cases += stale > 0;
	n_failures += stale > 0;
	(void)snprintf(sums, sizeof sums, "tests=\"%u\" failures=\"%u\" errors=\"%u\" "
	    "skipped=\"%u\" time=\"%.3f\"", n_cases, n_failures, (unsigned)red,
	    (unsigned)(v->hidden && !red),
	    (double)(t->u.total.last - t->u.total.first) / NS_S);
	out_c(o, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	out_fmt(o, "<testsuites name=\"mcpdiag\" %s>\n  <testsuite name=\"mcpdiag\" %s>\n",
	    sums, sums);
	for (size_t i = 0; opts->detectors[i]; i++)
		detector_case(&r, opts->detectors[i]);
	for (uint32_t i = 0; timeline_finding(tl, i); i++)
		if (is_first_of_its_kind(&r, i))
			detector_case(&r, timeline_finding(tl, i)->detector);
	capture_case(&r);
	if (stale)
		baseline_case(&r);
	summary(&r);
	out_c(o, "  </testsuite>\n</testsuites>");
	out_eol(o);
}
