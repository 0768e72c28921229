/* idle-cut: which timer it was.  DETECTORS "idle-cut". */
#include <stdio.h>
#include <stdlib.h>

#include "rule_idle_cut_priv.h"

#define ONE_OCCASION (250 * NS_MS) /* cuts this close count as one */
#define MIN_CUTS 3

enum timer { TIMER_IDLE, TIMER_ABSOLUTE, TIMER_SESSION, N_TIMERS };

static const char *const variants[] = { "idle", "absolute", "session-idle" };

/* Hints, never proof: whose default it is. */
static const struct known {
	double from, to;	/* seconds */
	const char *whose;
} knowns[] = {
	{ 10, 10, "10 s is Bun.serve's idleTimeout and the limit of some workers" },
	{ 27, 30, "27 to 30 s is a servlet container's asynchronous timeout, a Google "
	    "load balancer, or a client library's read timeout" },
	{ 60, 60, "60 s is the default of AWS ALB and of nginx's proxy_read_timeout" },
	{ 100, 100, "100 s is Cloudflare's older proxy read timeout" },
	{ 125, 125, "125 s is Cloudflare's proxy read timeout" },
	{ 230, 230, "230 s is Azure App Service" },
	{ 270, 270, "270 s is Cloudflare's gateway (TCP idle) or Workers" },
	{ 300, 300, "300 s is Node's requestTimeout, Envoy's stream idle timeout, Cloud "
	    "Run's default, or the session limit of rmcp 1.4 and later" },
	{ 305, 305, "305 s is Cursor's own limit, or 300 s and a delay" },
	{ 350, 350, "350 s is AWS NLB" },
};

/* The nearest one within 2 %, or NULL. */
static const struct known *
known(ns_t t)
{
	const struct known *best = NULL;
	double s = (double)t / 1e9, best_off = 1;

	for (size_t i = 0; i < sizeof knowns / sizeof knowns[0]; i++) {
		double off = s < knowns[i].from ? knowns[i].from - s :
		    s > knowns[i].to ? s - knowns[i].to : 0;

		off /= knowns[i].from;
		if (off <= 0.02 && off < best_off) {
			best = &knowns[i];
			best_off = off;
		}
	}
	return best;
}

struct found {			/* a timer that several cuts, or one, agree on */
	enum timer timer;
	struct cut **cuts;	/* in order of time */
	uint32_t n, occasions;
	double mean, variance;	/* of ns */
	ns_t median, min, max, survived;
	bool clean;		/* ended properly, and back at once */
	const struct known *known;
};

static ns_t
measure(const struct cut *c, enum timer timer)
{
	switch (timer) {
	case TIMER_IDLE:
		return c->silence;
	case TIMER_ABSOLUTE:
		return c->age;
	case TIMER_SESSION: case N_TIMERS:
		break;
	}
	return c->idle;
}

/* Silence can be what killed it only if it never was as long before. */
static bool
fits(const struct cut *c, enum timer timer)
{
	bool silent = c->silence * 10 >= c->age * 9 || c->silence > c->survived * 21 / 20;

	switch (timer) {
	case TIMER_IDLE:
		return silent;
	case TIMER_ABSOLUTE:
		return !silent;
	case TIMER_SESSION: case N_TIMERS:
		break;
	}
	return c->idle >= NS_S / 2 && (!silent || c->gone);
}

static uint32_t
occasions(struct cut *const *v, uint32_t n)
{
	uint32_t k = n > 0;

	for (uint32_t i = 1; i < n; i++)
		k += v[i]->at.t - v[i - 1]->at.t > ONE_OCCASION;
	return k;
}

static void
sum_up(const struct idle_cut *r, struct found *f)
{
	ns_t *v = xmalloc((f->n ? f->n : 1) * sizeof *v);
	double sum = 0, var = 0;
	uint32_t back = 0;

	f->clean = true;
	for (uint32_t i = 0; i < f->n; i++) {
		const struct cut *c = f->cuts[i];

		v[i] = measure(c, f->timer);
		sum += (double)v[i];
		back += c->next == NEXT_BACK;
		/* Shortly before the end of the capture nobody can be back. */
		f->clean &= !c->truncated && !c->post && (c->next == NEXT_BACK ||
		    (c->next == NEXT_NONE && c->at.t + WATCHED > r->now));
	}
	f->clean &= back > 0;
	if (f->n) {
		f->median = median(v, f->n, &f->min, &f->max);
		f->mean = sum / f->n;
	}
	for (uint32_t i = 0; i < f->n; i++)
		var += ((double)v[i] - f->mean) * ((double)v[i] - f->mean);
	f->variance = f->n ? var / f->n : 0;
	f->occasions = occasions(f->cuts, f->n);
	f->known = f->n ? known(f->median) : NULL;
	free(v);
}

/* What began at about one time and ended at about another is as old as each other,
 * and that says nothing of a timer: a server that ends all its streams in a minute. */
static bool
one_time(const struct found *f)
{
	ns_t first = INT64_MAX, last = INT64_MIN;

	for (uint32_t i = 0; i < f->n; i++) {
		ns_t began = f->cuts[i]->at.t - measure(f->cuts[i], f->timer);

		first = began < first ? began : first;
		last = began > last ? began : last;
	}
	return f->n && last - first < 2 * (f->max - f->min);
}

static bool
stopped(const struct cut *c)
{
	return c->together || c->closes > c->alike;
}

/* The cuts that agree with each other on that timer; false if they are too few,
 * or too few of those that it could be about. */
static bool
agree(const struct idle_cut *r, struct cut **all, uint32_t n, enum timer timer, struct found *f)
{
	uint32_t could = 0;

	*f = (struct found){ .timer = timer, .cuts = xcalloc(n ? n : 1, sizeof *f->cuts) };
	for (uint32_t i = 0; i < n; i++)
		if (fits(all[i], timer) && !stopped(all[i]))
			f->cuts[f->n++] = all[i];
	could = f->n;
	if (could < MIN_CUTS)
		return false;
	sum_up(r, f);
	f->n = 0;
	for (uint32_t i = 0; i < n; i++) {
		ns_t m = measure(all[i], timer);

		if (fits(all[i], timer) && !stopped(all[i]) &&
		    llabs(m - f->median) * 20 <= f->median)
			f->cuts[f->n++] = all[i];
	}
	sum_up(r, f);
	return f->occasions >= MIN_CUTS && f->n * 5 >= could * 3 && !one_time(f);
}

static bool
session_limit(const struct idle_cut *r, const struct found *f)
{
	uint32_t gone = 0, rmcp = 0;

	for (uint32_t i = 0; i < f->n; i++) {
		gone += f->cuts[i]->gone;
		rmcp += engine_looks(r->engine, f->cuts[i]->session, "rmcp");
	}
	return gone * 2 > f->n || rmcp * 2 > f->n;
}

/* One or two cuts: only at a well-known age, and only if the server was still
 * there afterwards, so that it was no stop. */
static bool
lone(struct idle_cut *r, struct cut **all, uint32_t n, struct found *f)
{
	for (int t = 0; t < N_TIMERS; t++) {
		enum timer timer = t == 0 ? TIMER_SESSION : t == 1 ? TIMER_IDLE :
		    TIMER_ABSOLUTE;

		f->n = 0;
		f->timer = timer;
		for (uint32_t i = 0; i < n; i++) {
			struct cut *c = all[i];
			const struct idrec *a = idtab_get(&r->answers, c->server);
			const struct idrec *s = idtab_get(&r->survived, c->group);
			ns_t m = measure(c, timer);
			bool alive = a && (c->at.t - r->first) / NS_MS < (ns_t)a->a;

			if (c->together || c->closes || !alive || !fits(c, timer) || !known(m) ||
			    (c->truncated && c->gone))
				continue;
			if (timer == TIMER_SESSION && !c->gone &&
			    !engine_looks(r->engine, c->session, "rmcp"))
				continue;
			/* Who ends a busy stream properly has a reason. */
			if (timer == TIMER_ABSOLUTE && !c->truncated)
				continue;
			if (timer == TIMER_IDLE && s && (ns_t)s->a * NS_MS > m * 21 / 20)
				continue;
			f->cuts[f->n++] = c;
		}
		sum_up(r, f);
		if (f->n && f->known && (f->max - f->min) * 20 <= f->median)
			return true;
	}
	return false;
}

/* ---- words ---- */

static enum confidence
confidence(const struct idle_cut *r, const struct found *f)
{
	enum confidence conf = f->occasions >= MIN_CUTS ? CONF_MEDIUM : CONF_LOW;

	if (f->occasions > MIN_CUTS && f->variance <= 0.0004 * f->mean * f->mean)
		conf = CONF_HIGH;
	if (f->timer == TIMER_IDLE && f->survived > f->median * 21 / 20 && conf > CONF_LOW)
		conf--;			/* somebody survived more */
	for (uint32_t i = 0; i < f->n; i++) {
		if (f->cuts[i]->torn && conf > CONF_MEDIUM)
			conf = CONF_MEDIUM;
		if (engine_inferred(r->engine, f->cuts[i]->session))
			conf = CONF_LOW;
	}
	return conf;
}

static void
say_what(struct draft *d, const struct found *f, uint32_t here, uint32_t truncated)
{
	double s = (double)f->median / 1e9;
	const char *who = truncated == f->n ? "the server or a hop before it" :
	    truncated ? "the server or a hop" : "the server";

	switch (f->timer) {
	case TIMER_IDLE:
		draft_title(d, "%s cuts streams that are silent for %.*f s: %u time%s", who,
		    s < 100 ? 2 : 1, s, here, here == 1 ? "" : "s");
		break;
	case TIMER_ABSOLUTE:
		draft_title(d, "%s ends streams at an age of %.*f s although bytes flow: %u "
		    "time%s", who, s < 100 ? 2 : 1, s, here, here == 1 ? "" : "s");
		break;
	case TIMER_SESSION: case N_TIMERS:
		draft_title(d, "%s ends the stream %.*f s after the session's last request: %u "
		    "time%s", who, s < 100 ? 2 : 1, s, here, here == 1 ? "" : "s");
		break;
	}
	draft_why(d, "%u stream%s of this path ended after %.2f s %s (from %.3f to %.3f s), "
	    "%s, and no other GET took its place.%s%s%s", f->n, f->n == 1 ? "" : "s", s,
	    f->timer == TIMER_IDLE ? "without a byte" : f->timer == TIMER_ABSOLUTE ?
	    "of life" : "without a request, whatever else was sent",
	    (double)f->min / 1e9, (double)f->max / 1e9, truncated == f->n ?
	    "by a close without the terminator" : truncated ?
	    "some with, some without the terminator" : "by the terminator",
	    f->known ? "  A hint only: " : "", f->known ? f->known->whose : "",
	    f->known ? "." : "");
}

static void
say_fix(const struct idle_cut *r, struct draft *d, const struct found *f, uint32_t truncated)
{
	const char *where = truncated ? "  Whether the server or a hop closed it cannot be "
	    "told from this capture point; capture at the server's own port." : "";

	switch (f->timer) {
	case TIMER_IDLE:
		draft_fix(d, "Server: send a comment on idle streams well within %.1f s (half "
		    "of it is usual).  Or raise the timeout of the hop that closes.%s%s",
		    (double)f->median / 1e9, engine_looks(r->engine, f->cuts[0]->session,
		    "TypeScript SDK") ? "  The TypeScript SDK sends them from 1.30.0 on." :
		    "", where);
		break;
	case TIMER_ABSOLUTE:
		draft_fix(d, "Raise the limit on the age of a response at the server (such as "
		    "a servlet's asynchronous timeout, a function's duration) or at the hop; "
		    "comments do not help.  Or end the stream properly before it, with retry "
		    "and event ids, so that clients resume.%s", where);
		break;
	case TIMER_SESSION: case N_TIMERS:
		draft_fix(d, "Client: send a request (ping) more often than that.  Server: "
		    "raise the session's idle limit, or let an open stream count as use%s.  "
		    "Comments on the stream do not help.%s",
		    engine_looks(r->engine, f->cuts[0]->session, "rmcp") ?
		    " (rmcp: SessionConfig::keep_alive, 300 s from 1.4.0 on)" : "", where);
		break;
	}
}

static void
write_facts(struct draft *d, const struct found *f, uint32_t truncated)
{
	uint32_t back = 0, refused = 0, gone = 0, posts = 0;

	for (uint32_t i = 0; i < f->n; i++) {
		back += f->cuts[i]->next == NEXT_BACK;
		refused += f->cuts[i]->next == NEXT_REFUSED;
		gone += f->cuts[i]->gone;
		posts += f->cuts[i]->post;
	}
	draft_ms(d, "timer_ms", f->median);
	draft_ms(d, "timer_min_ms", f->min);
	draft_ms(d, "timer_max_ms", f->max);
	draft_num(d, "streams_of_path", f->n);
	draft_text(d, "first_closer", STR("server"));
	draft_num(d, "ended_by_terminator", f->n - truncated);
	draft_num(d, "truncated", truncated);
	draft_num(d, "came_back", back);
	draft_num(d, "refused_afterwards", refused);
	draft_num(d, "session_gone_afterwards", gone);
	draft_num(d, "unanswered_posts_cut", posts);
	if (f->survived)
		draft_ms(d, "longest_silence_survived_ms", f->survived);
	if (f->known)
		draft_text(d, "known_timer", str_c(f->known->whose));
}

/* One finding for each session, so that what follows there can hang on it. */
static void
report(const struct idle_cut *r, const struct found *f)
{
	enum confidence conf = confidence(r, f);
	uint32_t truncated = 0;

	for (uint32_t i = 0; i < f->n; i++)
		truncated += f->cuts[i]->truncated;
	for (uint32_t i = 0; i < f->n; i++) {
		const struct cut *first = f->cuts[i], *last = first;
		bool told = false;
		uint32_t here = 0;
		struct draft *d;

		for (uint32_t j = 0; j < i; j++)
			told |= f->cuts[j]->session == first->session;
		if (told)
			continue;
		d = draft_new(r->engine, &rule_idle_cut, variants[f->timer],
		    f->clean ? SEV_INFO : SEV_WARNING, conf, first->session);
		for (uint32_t j = i; j < f->n; j++) {
			const struct cut *c = f->cuts[j];

			if (c->session != first->session)
				continue;
			here++;
			last = c;
			draft_stream(d, c->stream);
			draft_evidence(d, c->at, "stream %u ends %s: age %.2f s, silent for "
			    "%.2f s, %.2f s after the session's last request", c->stream,
			    c->truncated ? "without terminator" : "by the terminator",
			    (double)c->age / 1e9, (double)c->silence / 1e9,
			    (double)c->idle / 1e9);
		}
		say_what(d, f, here, truncated);
		say_fix(r, d, f, truncated);
		write_facts(d, f, truncated);
		draft_span(d, first->head, last->at);
		draft_count(d, here, f->median, f->max - f->median > f->median - f->min ?
		    f->max - f->median : f->median - f->min);
		draft_done(d);
	}
}

static void
judge_group(struct idle_cut *r, struct cut **all, uint32_t n, bool final)
{
	const struct idrec *s = idtab_get(&r->survived, all[0]->group);
	struct found f[N_TIMERS], *best = NULL;
	bool ok[N_TIMERS];

	for (int t = 0; t < N_TIMERS; t++)
		ok[t] = agree(r, all, n, (enum timer)t, &f[t]);
	/* All three may agree when nobody asked anything since the GET. */
	if (ok[TIMER_SESSION] && (!(ok[TIMER_IDLE] || ok[TIMER_ABSOLUTE]) ||
	    session_limit(r, &f[TIMER_SESSION])))
		best = &f[TIMER_SESSION];
	else if (ok[TIMER_IDLE])
		best = &f[TIMER_IDLE];
	else if (ok[TIMER_ABSOLUTE])
		best = &f[TIMER_ABSOLUTE];
	else if (final && lone(r, all, n, &f[TIMER_IDLE]))
		best = &f[TIMER_IDLE];
	if (best) {
		best->survived = s ? (ns_t)s->a * NS_MS : 0;
		report(r, best);
	}
	for (int t = 0; t < N_TIMERS; t++)
		free(f[t].cuts);
}

static int
by_group(const void *pa, const void *pb)
{
	const struct cut *a = *(struct cut *const *)pa, *b = *(struct cut *const *)pb;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->at.t != b->at.t)
		return a->at.t < b->at.t ? -1 : 1;
	return a->stream < b->stream ? -1 : a->stream > b->stream;
}

/* Streams that end at the same time but at another age and after another silence
 * were stopped, not timed out. */
static void
mark_together(struct cut **v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		v[i]->alike = 0;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = i + 1; j < n && j < i + 64 &&
		    v[j]->at.t - v[i]->at.t <= ONE_OCCASION; j++) {
			ns_t age = llabs(v[i]->age - v[j]->age);
			ns_t silence = llabs(v[i]->silence - v[j]->silence);

			if (age * 20 > v[i]->age && silence * 20 > v[i]->silence)
				v[i]->together = v[j]->together = true;
			if (age * 20 > v[i]->age || silence * 20 > v[i]->silence ||
			    v[i]->conn == v[j]->conn || v[j]->at.t - v[i]->at.t > STOP)
				continue;
			v[i]->alike += v[i]->alike < UINT8_MAX;
			v[j]->alike += v[j]->alike < UINT8_MAX;
		}
}

void
idle_cut_judge(struct idle_cut *r, ns_t now, bool final)
{
	struct cut **all = xcalloc(r->n_cuts ? r->n_cuts : 1, sizeof *all);
	struct kept *k, *tmp;
	uint32_t n = 0, from = 0;

	r->now = now;
	KEEPER_EACH(&r->sessions, k, tmp) {
		struct ic *s = (struct ic *)k;

		for (uint32_t i = 0; i < s->n_cuts && n < r->n_cuts; i++)
			if (!s->cuts[i].coupled && (final || s->cuts[i].at.t + WATCHED <= now))
				all[n++] = &s->cuts[i];
	}
	if (n)
		qsort(all, n, sizeof *all, by_group);
	for (uint32_t i = 0; i < n; i++) {
		if (i + 1 < n && all[i + 1]->group == all[from]->group)
			continue;
		mark_together(all + from, i + 1 - from);
		judge_group(r, all + from, i + 1 - from, final);
		from = i + 1;
	}
	free(all);
}
