#include "mcpdiag/sse.h"

#include <assert.h>
#include <stdlib.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/xmem.h"

static const char bom[3] = { '\xef', '\xbb', '\xbf' };

/* What the line being read is; NAME until the colon is seen. */
enum field {
	FIELD_NAME, FIELD_COMMENT, FIELD_DATA, FIELD_ID, FIELD_TYPE, FIELD_RETRY,
	FIELD_IGNORED,
};

/* Where the reader stands after a gap. */
enum skip {
	SKIP_NO,
	SKIP_HEAD,	/* at the first byte after the gap: any part of a line */
	SKIP_LINE,	/* the gap's line ended there; this line is whole */
	SKIP_BLOCK,	/* inside a block whose beginning is lost */
};

struct sse {
	struct sse_cb cb;
	void *arg;
	size_t line_max;
	uint64_t data_max;

	struct sse_event ev;	/* the block so far */
	struct str value;	/* value of the line so far: lent by the piece
				 * being fed, or in `line` */
	struct buf line;	/* the value of a line that straddles pieces */
	uint64_t retry;
	char name[6];		/* longer than any name we know */
	uint8_t n_name;
	uint8_t n_bom;		/* bytes of a BOM matched; 3: no longer looked for */
	uint8_t field, skip;	/* enum field, enum skip */
	bool block;		/* the block holds a field we know */
	bool id_own, type_own;	/* the strings of ev are ours to free */
	bool after_cr;		/* a LF coming now belongs to the CR before it */
	bool lead;		/* one space here is not part of the value */
	bool over;		/* the value passed line_max */
	bool bad;		/* NUL in an id; a retry that is not a number */
};

static_assert(sizeof(struct sse) < 256, "idle streams must stay cheap");

static void
set_field(struct str *field, bool *own, struct str value, bool value_own)
{
	if (*own)
		free((char *)field->p);
	*field = value;
	*own = value_own;
}

static void
clear_block(struct sse *s)
{
	set_field(&s->ev.id, &s->id_own, STR_NONE, false);
	set_field(&s->ev.type, &s->type_own, STR_NONE, false);
	s->ev = (struct sse_event){ .retry_ms = -1 };
	s->block = false;
}

static void
clear_line(struct sse *s)
{
	s->field = FIELD_NAME;
	s->n_name = 0;
	s->value = STR_NONE;
	s->lead = s->over = s->bad = false;
	if (s->line.p != NULL)
		buf_fini(&s->line);
}

static void
end_block(struct sse *s)
{
	if (s->block && s->cb.event != NULL)
		s->cb.event(s->arg, &s->ev);
	clear_block(s);
}

static void
data(struct sse *s, const char *p, size_t n)
{
	uint64_t left = s->data_max - s->ev.data_len;

	if (s->ev.data_len >= s->data_max)
		left = 0;
	s->ev.data_len += n;
	if (n > left) {
		s->ev.cut = true;
		n = (size_t)left;
	}
	if (n > 0 && s->cb.data != NULL)
		s->cb.data(s->arg, p, n);
}

static enum field
known_field(const char *name, size_t n)
{
	if (n == 4 && memcmp(name, "data", 4) == 0)
		return FIELD_DATA;
	if (n == 2 && memcmp(name, "id", 2) == 0)
		return FIELD_ID;
	if (n == 5 && memcmp(name, "event", 5) == 0)
		return FIELD_TYPE;
	if (n == 5 && memcmp(name, "retry", 5) == 0)
		return FIELD_RETRY;
	return FIELD_IGNORED;
}

/* The name is complete: at the colon, or at the end of a line without one. */
static void
name_done(struct sse *s, bool colon)
{
	s->field = known_field(s->name, s->n_name);
	if (s->n_name == 0)
		s->field = s->skip == SKIP_HEAD ? FIELD_IGNORED : FIELD_COMMENT;
	else if (s->field != FIELD_IGNORED && colon &&
	    (s->skip == SKIP_HEAD || s->skip == SKIP_LINE)) {
		/* Servers send whole blocks, so a segment that starts with a
		 * field most likely starts a block; what came before it in the
		 * same block, if anything, is lost. */
		s->skip = SKIP_NO;
		s->ev.torn = true;
	}
	if (s->skip != SKIP_NO) {
		s->skip = SKIP_BLOCK;
		if (s->field != FIELD_COMMENT)
			s->field = FIELD_IGNORED;
	}
	s->lead = s->field != FIELD_COMMENT;
	s->retry = 0;
	if (s->field == FIELD_DATA) {
		if (s->ev.has_data)
			data(s, "\n", 1);
		s->ev.has_data = s->block = true;
	}
}

/* Consumes bytes of the name, and the colon; returns how many. */
static size_t
name_part(struct sse *s, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] == ':') {
			name_done(s, true);
			return i + 1;
		}
		if (s->n_name < sizeof s->name)
			s->name[s->n_name++] = p[i];
		if (s->n_name == sizeof s->name) {
			name_done(s, true);
			return n;
		}
	}
	return n;
}

/* HTML 9.2.6: a retry counts only when it consists of ASCII digits. */
static void
retry_part(struct sse *s, const char *p, size_t n)
{
	for (size_t i = 0; i < n && !s->bad; i++) {
		unsigned d = (unsigned char)p[i] - '0';

		if (d > 9 || s->retry > ((uint64_t)INT64_MAX - d) / 10)
			s->bad = true;
		s->retry = s->retry * 10 + d;
	}
	s->value.n += n;
}

static void
value_part(struct sse *s, const char *p, size_t n)
{
	size_t left = s->line_max - s->value.n;

	if (s->field == FIELD_ID && memchr(p, '\0', n) != NULL)
		s->bad = true;
	if (n > left) {
		s->over = true;
		n = left;
	}
	if (s->value.p == NULL) {
		s->value = str_of(p, n);
		return;
	}
	(void)buf_add(&s->line, p, n);	/* its limit is line_max */
	s->value = buf_str(&s->line);
}

/* Bytes of one line, without its end. */
static void
line_part(struct sse *s, const char *p, size_t n)
{
	if (s->field == FIELD_NAME) {
		size_t used = name_part(s, p, n);

		p += used;
		n -= used;
	}
	if (n == 0)
		return;
	if (s->lead && *p == ' ') {
		p++;
		n--;
	}
	s->lead = false;
	switch ((enum field)s->field) {
	case FIELD_DATA:
		data(s, p, n);
		break;
	case FIELD_RETRY:
		retry_part(s, p, n);
		break;
	case FIELD_ID: case FIELD_TYPE: case FIELD_COMMENT:
		value_part(s, p, n);
		break;
	case FIELD_NAME: case FIELD_IGNORED:
		break;
	}
}

/* Makes the value of this line the block's id or type. */
static void
keep_value(struct sse *s, struct str *field, bool *own)
{
	struct str value = s->value.p != NULL ? s->value : STR("");
	bool value_own = s->line.p != NULL;

	if (value_own)
		buf_init(&s->line, s->line_max);	/* its memory moves */
	set_field(field, own, value, value_own);
	s->ev.cut |= s->over;
	s->block = true;
}

static void
field_done(struct sse *s)
{
	switch ((enum field)s->field) {
	case FIELD_COMMENT:
		if (s->cb.comment != NULL)
			s->cb.comment(s->arg, s->value.p != NULL ? s->value : STR(""));
		break;
	case FIELD_ID:
		if (s->bad)
			break;
		s->ev.data_first |= s->ev.has_data;
		keep_value(s, &s->ev.id, &s->id_own);
		break;
	case FIELD_TYPE:
		keep_value(s, &s->ev.type, &s->type_own);
		break;
	case FIELD_RETRY:
		s->block = true;
		if (s->bad || s->value.n == 0)
			s->ev.bad_retry = true;
		else
			s->ev.retry_ms = (int64_t)s->retry;
		break;
	case FIELD_NAME: case FIELD_DATA: case FIELD_IGNORED:
		break;
	}
}

static void
line_end(struct sse *s)
{
	if (s->field == FIELD_NAME && s->n_name > 0)
		name_done(s, false);
	if (s->field != FIELD_NAME)
		field_done(s);
	else if (s->skip == SKIP_HEAD)
		s->skip = SKIP_LINE;	/* the end of a lost line, or blank */
	else {
		s->skip = SKIP_NO;
		end_block(s);
	}
	clear_line(s);
}

/* The stream stops inside a line or a block: only data is known in part. */
static void
break_off(struct sse *s)
{
	clear_line(s);
	end_block(s);
	s->skip = SKIP_NO;
	s->after_cr = false;
}

/* Takes copies of what the piece lent, before it goes away. */
static void
settle(struct sse *s)
{
	struct str *v = &s->value;

	if (v->p != NULL && s->line.p == NULL) {
		(void)buf_add(&s->line, v->p, v->n);
		*v = v->n > 0 ? buf_str(&s->line) : STR_NONE;
	}
	if (s->ev.id.n > 0 && !s->id_own) {
		s->ev.id.p = xmemdup0(s->ev.id.p, s->ev.id.n);
		s->id_own = true;
	}
	if (s->ev.type.n > 0 && !s->type_own) {
		s->ev.type.p = xmemdup0(s->ev.type.p, s->ev.type.n);
		s->type_own = true;
	}
}

/* HTML 9.2.6: one leading byte order mark is dropped.  Returns how many bytes
 * of the piece were looked at. */
static size_t
bom_part(struct sse *s, const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && s->n_bom < sizeof bom && p[i] == bom[s->n_bom]) {
		s->n_bom++;
		i++;
	}
	if (i < n && s->n_bom < sizeof bom) {
		line_part(s, bom, s->n_bom);
		s->n_bom = sizeof bom;
	}
	return i;
}

static const char *
find(const char *p, const char *end, char c)
{
	const char *at = memchr(p, c, (size_t)(end - p));

	return at != NULL ? at : end;
}

struct sse *
sse_new(const struct sse_cb *cb, void *arg, size_t line, uint64_t data_max)
{
	struct sse *s = xcalloc(1, sizeof *s);

	s->cb = *cb;
	s->arg = arg;
	s->line_max = line;
	s->data_max = data_max;
	s->ev.retry_ms = -1;
	buf_init(&s->line, line);
	return s;
}

void
sse_free(struct sse *s)
{
	if (s == NULL)
		return;
	clear_line(s);
	clear_block(s);
	free(s);
}

void
sse_feed(struct sse *s, const void *piece, size_t n)
{
	const char *p = piece, *end, *lf, *cr, *eol;

	if (n == 0)
		return;
	end = p + n;
	if (s->n_bom < sizeof bom)
		p += bom_part(s, p, n);
	if (p < end && s->after_cr) {
		s->after_cr = false;
		p += *p == '\n';
	}
	/* Each of the two is looked for again only when it was passed, so that
	 * a piece full of one and without the other is still read once. */
	lf = find(p, end, '\n');
	cr = find(p, end, '\r');
	while (p < end) {
		if (lf < p)
			lf = find(p, end, '\n');
		if (cr < p)
			cr = find(p, end, '\r');
		eol = lf < cr ? lf : cr;
		line_part(s, p, (size_t)(eol - p));
		if (eol == end)
			break;
		line_end(s);
		p = eol + 1;
		if (*eol != '\r')
			continue;
		if (p == end)
			s->after_cr = true;
		else
			p += *p == '\n';
	}
	settle(s);
}

void
sse_gap(struct sse *s, uint64_t lost)
{
	(void)lost;
	s->ev.torn = true;
	break_off(s);
	s->skip = SKIP_HEAD;
	s->n_bom = sizeof bom;
}

void
sse_eof(struct sse *s)
{
	s->ev.tail = true;
	break_off(s);
	s->n_bom = 0;
}
