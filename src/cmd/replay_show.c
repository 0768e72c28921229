#include "replay_show.h"

#include "mcpdiag/esc.h"

#define MAX_WORD 60		/* bytes of a captured string that are shown */
#define MAX_ROWS 4U		/* differences of one exchange, without -v */

#define S(n) ((n) == 1 ? "" : "s")

static void
add_wire(struct buf *b, struct str s)
{
	esc_text(b, s, MAX_WORD);
}

/* "POST tools/call poke", "GET, Last-Event-ID 0/1" */
static void
name_it(struct buf *b, const struct plan_x *x)
{
	if (x->method.n)
		add_wire(b, x->method);
	else
		(void)buf_adds(b, STR("a request"));
	for (uint32_t i = 0; i < x->n_msgs && i < 3; i++) {
		const struct plan_msg *m = &x->msgs[i];

		(void)buf_adds(b, i ? STR(", ") : STR(" "));
		if (m->method.p)
			add_wire(b, m->method);
		else
			(void)buf_adds(b, STR("answer to the server"));
		if (m->name.p) {
			(void)buf_addc(b, ' ');
			add_wire(b, m->name);
		}
	}
	if (x->n_msgs > 3)
		(void)buf_fmt(b, ", %u more", x->n_msgs - 3);
	if ((x->kind == PLAN_OTHER && x->target.n) || (x->kind != PLAN_DELETE && x->n_msgs == 0 && !x->session)) {
		(void)buf_addc(b, ' ');
		add_wire(b, x->target);
	}
	if (x->cursor.p) {
		(void)buf_adds(b, STR(", Last-Event-ID "));
		add_wire(b, x->cursor);
	}
	if (x->made_up)
		(void)buf_adds(b, STR(" (made up)"));
}

static void
add_wait(struct buf *b, const char *what, uint32_t n)
{
	if (n)
		(void)buf_fmt(b, "%s%s %u", b->n ? ", " : "", what, n);
}

static void
say_waits(struct buf *b, const struct plan_x *x)
{
	add_wait(b, "session of", x->handshake);
	if (x->prev)
		(void)buf_fmt(b, "%s%.3f s from the end of %u", b->n ? ", " : "",
		    (double)x->gap / 1e9, x->prev);
	if (x->after != x->handshake)
		add_wait(b, "answer of", x->after);
	add_wait(b, x->last_given ? "last id of" : "id of", x->giver);
	add_wait(b, "request on", x->asker);
	add_wait(b, "list_changed on", x->cue);
	if (x->leave >= 0)
		(void)buf_fmt(b, "%sleft %.3f s later", b->n ? "; " : "",
		    (double)(x->leave - x->at) / 1e9);
}

static void
show_row(struct out *o, const struct plan_x *x)
{
	struct buf what, waits;

	buf_init(&what, 4096);
	buf_init(&waits, 4096);
	name_it(&what, x);
	say_waits(&waits, x);
	out_fmt(o, "%6u  %9.3f  %6u  ", x->n, (double)x->at / 1e9, x->client + 1);
	out_str(o, buf_str(&what));
	for (size_t i = what.n; i < 40 && waits.n; i++)
		out_c(o, " ");
	if (waits.n)
		out_c(o, "  ");
	out_str(o, buf_str(&waits));
	out_c(o, "\n");
	buf_fini(&what);
	buf_fini(&waits);
}

static void
show_skipped(struct out *o, const struct plan_x *x, const char *why)
{
	struct buf b;

	buf_init(&b, 4096);
	name_it(&b, x);
	out_fmt(o, "%6u  %9.3f  ", x->n, (double)x->at / 1e9);
	out_str(o, buf_str(&b));
	out_fmt(o, ": %s", why);
	if (x->skip == PLAN_SIDE_EFFECTS) {
		buf_clear(&b);
		add_wire(&b, x->allow);
		out_c(o, "; --allow ");
		out_str(o, buf_str(&b));
	}
	out_c(o, "\n");
	buf_fini(&b);
}

static uint32_t
planned(const struct plan *p)
{
	const struct plan_x *x;
	uint32_t n = 0;

	for (uint32_t i = 1; (x = plan_x(p, i)) != NULL; i++)
		n += x->skip == PLAN_PLAYED;
	return n;
}

static void
show_left_out(struct out *o, const struct plan *p)
{
	const struct plan_x *x;

	for (uint32_t i = 1; (x = plan_x(p, i)) != NULL; i++)
		if (x->skip != PLAN_PLAYED)
			show_skipped(o, x, plan_skip_text(x->skip));
	if (plan_left_out(p))
		out_fmt(o, "%llu exchanges, events or texts were too many to be kept\n",
		    (unsigned long long)plan_left_out(p));
}

/* Those of pages elsewhere, which are not taken from the capture. */
static void
show_origins(struct out *o, const struct plan *p)
{
	const struct plan_x *x, *first = NULL;
	uint32_t n = 0;
	struct buf b;

	for (uint32_t i = 1; (x = plan_x(p, i)) != NULL; i++) {
		if (x->skip != PLAN_PLAYED || x->origin.p == NULL || x->own_origin)
			continue;
		first = first ? first : x;
		n++;
	}
	if (first == NULL)
		return;
	buf_init(&b, 4096);
	add_wire(&b, first->origin);
	out_fmt(o, "Origin is left out of %u: of %u, ", n, first->n);
	out_str(o, buf_str(&b));
	out_c(o, "; -H 'Origin: ...' sends one with each\n");
	buf_fini(&b);
}

void
replay_show_plan(struct out *o, const struct plan *p)
{
	const struct plan_x *x;
	uint32_t n = planned(p), clients = plan_clients(p);

	out_fmt(o, "%u of %u exchange%s to play, by %u client%s, in %.3f s\n", n,
	    plan_count(p), S(plan_count(p)), clients, S(clients),
	    (double)plan_duration(p) / 1e9);
	if (n)
		out_c(o, "number    seconds  client  request                                   "
		    "waits for\n");
	for (uint32_t i = 1; (x = plan_x(p, i)) != NULL; i++)
		if (x->skip == PLAN_PLAYED)
			show_row(o, x);
	show_origins(o, p);
	if (n < plan_count(p))
		out_c(o, "not played\n");
	show_left_out(o, p);
}

void
replay_show_run(struct out *o, const struct plan *p, const struct player *pl,
    unsigned copies, bool all)
{
	const struct player_x *x;
	uint32_t n = 0, of = plan_count(p);

	for (uint32_t i = 1; (x = player_x(pl, i)) != NULL; i++)
		n += x->state == PLAYED_DONE;
	out_fmt(o, "replay   %u of %u exchange%s played", n, of, S(of));
	if (copies > 1)
		out_fmt(o, " by the first of %u at once", copies);
	out_c(o, "\n");
	for (uint32_t i = 1; (x = player_x(pl, i)) != NULL; i++) {
		if (x->state == PLAYED_DONE || x->state == PLAYED_NOT)
			continue;
		show_skipped(o, x->plan, played_text(x->state));
	}
	if (all || n == 0)
		show_left_out(o, p);
	else if (planned(p) < of)
		out_fmt(o, "         %u left out: --dry-run says why\n", of - planned(p));
}

static void
show_value(struct out *o, struct str s)
{
	struct buf b;

	buf_init(&b, 4096);
	if (s.p)
		add_wire(&b, s);
	else
		(void)buf_addc(&b, '-');
	out_str(o, buf_str(&b));
	buf_fini(&b);
}

/* ---- stand-ins ---- */

void
replay_show_standins(struct out *o, const struct standin *s, const struct client_row *row)
{
	const struct standin_x *x;
	uint32_t left = standin_left_out(s);

	for (uint32_t i = 0; (x = standin_x(s, i)) != NULL; i++) {
		out_fmt(o, "replay   client %u as %s: %u GET%s, %u answered with a stream, %u "
		    "refused; %u message%s", x->client + 1, row->title, x->gets, S(x->gets),
		    x->streams, x->refused, x->messages, S(x->messages));
		if (x->why[0] && x->stop != LISTEN_DONE) {
			out_c(o, "; it stopped: ");
			show_value(o, str_c(x->why));
		}
		out_c(o, "\n");
	}
	if (left)
		out_fmt(o, "         %u client%s left out: without a session of Streamable HTTP that "
		    "begins in the capture\n", left, left == 1 ? " is" : "s are");
}

/* ---- the comparison ---- */

static void
show_difference(struct out *o, const struct compare_row *r)
{
	out_fmt(o, "                    %s", compare_what_name(r->what));
	if (r->path.n) {
		out_c(o, " ");
		show_value(o, r->path);
	}
	out_c(o, ": ");
	show_value(o, r->captured);
	out_c(o, " -> ");
	show_value(o, r->live);
	out_c(o, r->is_volatile ? " (volatile)\n" : "\n");
}

static void
show_more(struct out *o, uint32_t *more)
{
	if (*more)
		out_fmt(o, "                    and %u more: -v shows them\n", *more);
	*more = 0;
}

static void
show_times(struct out *o, const struct compare_times *t)
{
	if (t->n == 0)
		return;
	out_fmt(o, "         response heads after %.1f ms, %.1f ms at most (captured: %.1f and "
	    "%.1f)\n", (double)t->live / 1e6, (double)t->live_max / 1e6,
	    (double)t->captured / 1e6, (double)t->captured_max / 1e6);
}

void
replay_show_compare(struct out *o, const struct plan *p, const struct compare *c, bool all)
{
	const struct compare_row *r;
	uint32_t n = compare_played(c), differ = compare_differ(c), last = 0, rows = 0, more = 0;
	struct buf b;

	if (n == 0)
		return;
	out_fmt(o, "compare  %u of %u exchange%s differ from the capture%s\n", differ, n, S(n),
	    differ ? ": captured -> here" : "");
	buf_init(&b, 4096);
	for (uint32_t i = 0; (r = compare_row(c, i)) != NULL; i++) {
		if (r->is_volatile && !all)
			continue;
		if (r->n == last && ++rows > MAX_ROWS && !all) {
			more++;
			continue;
		}
		if (r->n != last) {
			show_more(o, &more);
			rows = 1;
			buf_clear(&b);
			name_it(&b, plan_x(p, r->n));
			out_fmt(o, "%6u  %9.3f  ", r->n, (double)plan_x(p, r->n)->at / 1e9);
			out_str(o, buf_str(&b));
			out_c(o, "\n");
		}
		last = r->n;
		show_difference(o, r);
	}
	show_more(o, &more);
	buf_fini(&b);
	if (compare_left_out(c))
		out_fmt(o, "         %llu more\n", (unsigned long long)compare_left_out(c));
	show_times(o, compare_times(c));
}

/* ---- JSON ---- */

static void
json_time(struct out *o, const char *name, ns_t t)
{
	if (t >= 0)
		out_fmt(o, ", \"%s\": %lld.%09lld", name, (long long)(t / NS_S),
		    (long long)(t % NS_S));
}

static void
json_string(struct out *o, const char *name, struct str s)
{
	if (s.p == NULL)
		return;
	out_fmt(o, ", \"%s\": ", name);
	out_json(o, s);
}

static void
json_exchange(struct out *o, const struct plan_x *p, const struct player_x *x)
{
	out_fmt(o, "    {\"n\": %u, \"client\": %u, \"packet\": %u", p->n, p->client + 1, p->pkt);
	json_string(o, "method", p->method);
	if (p->n_msgs > 0) {
		json_string(o, "rpc_method", p->msgs[0].method);
		json_string(o, "name", p->msgs[0].name);
	}
	json_string(o, "last_event_id", p->cursor);
	json_time(o, "at", p->at);
	if (p->skip != PLAN_PLAYED)
		json_string(o, "not_played", str_c(plan_skip_text(p->skip)));
	else if (x->state != PLAYED_DONE)
		json_string(o, "not_played", str_c(played_text(x->state)));
	json_string(o, "allow", p->allow);
	out_fmt(o, ", \"captured\": {\"status\": %u, \"event_stream\": %s", p->status,
	    p->is_stream ? "true" : "false");
	json_time(o, "head", p->head_at);
	json_time(o, "end", p->end_at);
	out_c(o, "}");
	if (x->state == PLAYED_DONE) {
		out_fmt(o, ", \"live\": {\"status\": %u, \"event_stream\": %s, \"events\": %u",
		    x->status, x->is_stream ? "true" : "false", x->n_events);
		json_time(o, "due", x->due);
		json_time(o, "sent", x->sent);
		json_time(o, "head", x->head);
		json_time(o, "end", x->end);
		out_fmt(o, ", \"how\": \"%s\"", x->left ? "left" : client_end_name(x->how));
		json_string(o, "why", x->why);
		out_c(o, "}");
	}
	out_c(o, "}");
}

static void
json_difference(struct out *o, const struct compare_row *r)
{
	out_fmt(o, "    {\"n\": %u, \"what\": \"%s\", \"volatile\": %s", r->n,
	    compare_what_name(r->what), r->is_volatile ? "true" : "false");
	json_string(o, "path", r->path);
	json_string(o, "captured", r->captured);
	json_string(o, "live", r->live);
	out_c(o, "}");
}

void
replay_show_json(struct out *o, const char *url, const struct plan *p,
    const struct player *pl, const struct compare *c)
{
	const struct compare_row *r;
	const struct plan_x *x;

	out_c(o, "{\n  \"schema\": \"mcpdiag-replay/1\",\n  \"url\": ");
	out_json(o, str_c(url));
	out_c(o, ",\n  \"exchanges\": [");
	for (uint32_t i = 1; (x = plan_x(p, i)) != NULL; i++) {
		out_c(o, i > 1 ? ",\n" : "\n");
		json_exchange(o, x, player_x(pl, i));
	}
	out_fmt(o, "\n  ],\n  \"played\": %u,\n  \"differ\": %u,\n  \"differences\": [",
	    compare_played(c), compare_differ(c));
	for (uint32_t i = 0; (r = compare_row(c, i)) != NULL; i++) {
		out_c(o, i > 0 ? ",\n" : "\n");
		json_difference(o, r);
	}
	out_c(o, "\n  ],\n  \"analysis\": ");
}

void
replay_show_standins_json(struct out *o, const char *url, const struct standin *s,
    const struct client_row *row)
{
	const struct standin_x *x;

	out_c(o, "{\n  \"schema\": \"mcpdiag-replay/1\",\n  \"url\": ");
	out_json(o, str_c(url));
	out_fmt(o, ",\n  \"client\": \"%s\",\n  \"clients\": [", row->name);
	for (uint32_t i = 0; (x = standin_x(s, i)) != NULL; i++) {
		out_fmt(o, "%s    {\"client\": %u, \"gets\": %u, \"streams\": %u, \"refused\": %u, "
		    "\"messages\": %u, \"calls\": %u", i ? ",\n" : "\n", x->client + 1, x->gets,
		    x->streams, x->refused, x->messages, x->calls);
		json_string(o, "why", str_c(x->why));
		out_c(o, "}");
	}
	out_fmt(o, "\n  ],\n  \"left_out\": %u,\n  \"analysis\": ", standin_left_out(s));
}
