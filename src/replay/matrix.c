#include "mcpdiag/matrix.h"

#include <stdio.h>

static const struct {
	const char *title;
	enum probe_id id;
	unsigned slot;
	bool first, cursor;
} columns[MATRIX_N] = {
	[MATRIX_FIRST] = { "first GET", PROBE_TWO_GETS, PROBE_A, true, false },
	[MATRIX_SECOND] = { "second GET", PROBE_TWO_GETS, PROBE_B, false, false },
	[MATRIX_EARLY] = { "early resume", PROBE_RESUME_LIVE, PROBE_B, false, true },
	[MATRIX_RESUME] = { "resume", PROBE_RESUME, PROBE_B, false, true },
	[MATRIX_ANSWERED] = { "answered POST", PROBE_FINISHED_POST, PROBE_B, false, true },
	[MATRIX_DEAD] = { "dead session", PROBE_DEAD_SESSION, PROBE_A, false, false },
};

static enum client_got
got(enum probe_answer a)
{
	switch (a) {
	case PROBE_OPEN:
		return GOT_STREAM;
	case PROBE_ENDED: case PROBE_EMPTY:
		return GOT_END;
	case PROBE_PLAIN:
		return GOT_TYPE;
	case PROBE_400:
		return GOT_400;
	case PROBE_401:
		return GOT_401;
	case PROBE_404:
		return GOT_404;
	case PROBE_405:
		return GOT_405;
	case PROBE_409:
		return GOT_409;
	case PROBE_429: case PROBE_4XX: case PROBE_OTHER:
		return GOT_4XX;
	case PROBE_5XX:
		return GOT_5XX;
	case PROBE_NOT_ASKED: case PROBE_SILENT: case PROBE_CUT: case PROBE_N_ANSWERS:
		break;
	}
	return GOT_NOTHING;
}

/* What came, and whether it cost an older stream its life. */
static enum client_got
column_got(enum matrix_column m, const struct probe_seen *all, bool *takes)
{
	const struct probe_seen *seen = &all[columns[m].id];
	enum probe_answer a = seen->s[columns[m].slot].answer;
	enum probe_answer other = seen->s[PROBE_A].answer;

	*takes = columns[m].slot != PROBE_A && m != MATRIX_RESUME &&
	    (other == PROBE_ENDED || other == PROBE_EMPTY) &&
	    (a == PROBE_OPEN || a == PROBE_ENDED);
	/* The first GET of all was well until the second one came. */
	if (m == MATRIX_FIRST && (a == PROBE_ENDED || a == PROBE_EMPTY) &&
	    seen->s[PROBE_B].answer != PROBE_NOT_ASKED)
		a = PROBE_OPEN;
	return *takes ? GOT_STREAM : got(a);
}

static bool
asked(enum matrix_column m, const struct probe_seen *all)
{
	enum probe_answer a = all[columns[m].id].s[columns[m].slot].answer;

	/* How long a client waits for a head is not in the table. */
	return a != PROBE_NOT_ASKED && a != PROBE_SILENT;
}

const char *
matrix_title(enum matrix_column m)
{
	return columns[m].title;
}

const char *
matrix_answer(enum matrix_column m, const struct probe_seen *all)
{
	bool takes;
	enum client_got g;

	if (!asked(m, all))
		return NULL;
	g = column_got(m, all, &takes);
	return takes ? "takes over" : clients_got_name(g);
}

static int64_t
told_retry(const struct probe_seen *all)
{
	int64_t r = all[PROBE_TWO_GETS].s[PROBE_A].retry_ms;

	return all[PROBE_TWO_GETS].s[PROBE_A].answer == PROBE_NOT_ASKED || r < 0 ? -1 : r;
}

static void
put_retry(struct matrix_cell *c, const char *word, const struct client_row *row,
    int64_t retry_ms, bool fails)
{
	ns_t after = clients_delay(row, 0, retry_ms < 0 ? -1 : retry_ms * NS_MS);
	/* Streams that were accepted are no failures: the delay stays. */
	bool grows = fails && (row->growth > 1 || row->step > 0) &&
	    (retry_ms < 0 || !row->retry);

	(void)snprintf(c->text, sizeof c->text, "%s %s%.3g s", word, grows ? "from " : "",
	    (double)after / 1e9);
}

static void
put_does(struct matrix_cell *c, const struct client_row *row, enum client_got g, bool first,
    int64_t retry_ms)
{
	enum client_does does = first ? row->first[g] : row->later[g];
	static const char *const words[] = {
		[DOES_UNTOLD] = "?", [DOES_LISTEN] = "listens",
		[DOES_WITHOUT] = "goes without", [DOES_DEAF] = "deaf",
		[DOES_RETRY] = "", [DOES_TRIES] = "", [DOES_REINIT] = "new session",
		[DOES_FAIL] = "session fails",
	};

	(void)snprintf(c->text, sizeof c->text, "%s", words[does]);
	c->bad = does == DOES_DEAF || does == DOES_FAIL || does == DOES_RETRY ||
	    does == DOES_TRIES;
	if (does == DOES_RETRY && g == GOT_END && row->idle > 0)
		(void)snprintf(c->text, sizeof c->text, "%u ends, %s", row->idle,
		    row->on_idle == DOES_FAIL ? "fails" : "deaf");
	else if (does == DOES_RETRY)
		put_retry(c, "loops", row, g == GOT_END || g == GOT_TYPE ? retry_ms :
		    row->growth > 1 || row->step > 0 ? -1 : retry_ms,
		    g != GOT_END && g != GOT_TYPE);
	else if (does == DOES_TRIES)
		(void)snprintf(c->text, sizeof c->text, "%u tries, deaf",
		    row->end_counts ? row->tries : row->tries + 1);
}

struct matrix_cell
matrix_cell(const struct client_row *row, enum matrix_column m, const struct probe_seen *all)
{
	struct matrix_cell c = { false, false, "-" };
	int64_t retry_ms = told_retry(all);
	bool takes;
	enum client_got g;

	/* Without a cursor there is nothing that such a client would resume. */
	if (!asked(m, all) || (columns[m].cursor && !row->cursor) ||
	    (m == MATRIX_ANSWERED && !row->answered) ||
	    ((m == MATRIX_RESUME || m == MATRIX_EARLY) && row->later[GOT_END] != DOES_RETRY))
		return c;
	c.known = true;
	g = column_got(m, all, &takes);
	if (takes && row->later[GOT_END] == DOES_RETRY) {
		c.bad = true;
		put_retry(&c, "leapfrog", row, retry_ms, false);
	} else if (takes) {
		c.bad = true;
		(void)snprintf(c.text, sizeof c.text, "one deaf");
	} else {
		put_does(&c, row, g, columns[m].first, retry_ms);
	}
	return c;
}
