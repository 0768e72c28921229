#include "mcpdiag/baseline.h"

#include <stdlib.h>

#include "mcpdiag/xmem.h"

#define MAX_LINE 2048

struct baseline {
	struct baseline_entry *entries;
	uint32_t n, cap;
};

struct baseline *
baseline_new(void)
{
	return xcalloc(1, sizeof(struct baseline));
}

void
baseline_free(struct baseline *b)
{
	if (b == NULL)
		return;
	for (uint32_t i = 0; i < b->n; i++) {
		free(b->entries[i].detector);
		free(b->entries[i].server);
		free(b->entries[i].client);
	}
	free(b->entries);
	free(b);
}

/* The next word of a line, which it is taken from. */
static struct str
word(struct str *line)
{
	struct str w;
	size_t i = 0, n;

	while (i < line->n && (line->p[i] == ' ' || line->p[i] == '\t'))
		i++;
	for (n = i; n < line->n && line->p[n] != ' ' && line->p[n] != '\t'; n++)
		;
	w = str_of(line->p + i, n - i);
	*line = str_of(line->p + n, line->n - n);
	return w;
}

static bool
printable(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] <= ' ' || s.p[i] > '~')
			return false;
	return true;
}

static int
parse_line(struct baseline *b, struct str line, uint32_t number, struct errmsg *em)
{
	size_t comment = str_find(line, STR("#"));
	struct str w[4];

	if (comment != SIZE_MAX)
		line.n = comment;
	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	for (int i = 0; i < 4; i++)
		w[i] = word(&line);
	if (w[0].n == 0)
		return 0;
	if (w[2].n == 0 || w[3].n)
		return err_set(em, E_SYNTAX, "line %u: an entry is DETECTOR[/VARIANT] "
		    "SERVER CLIENT", number);
	for (int i = 0; i < 3; i++)
		if (!printable(w[i]) || w[i].n > MAX_LINE)
			return err_set(em, E_SYNTAX, "line %u: bytes that are no "
			    "printable ASCII are written %%XX", number);
	if (b->n == BASELINE_MAX_ENTRIES)
		return err_set(em, E_LIMIT, "line %u: more than %d entries", number,
		    BASELINE_MAX_ENTRIES);
	b->entries = xgrow(b->entries, b->n, &b->cap, sizeof *b->entries);
	b->entries[b->n++] = (struct baseline_entry){ xmemdup0(w[0].p, w[0].n),
	    xmemdup0(w[1].p, w[1].n), xmemdup0(w[2].p, w[2].n), number, false };
	return 0;
}

int
baseline_parse(struct baseline *b, struct str text, struct errmsg *em)
{
	uint32_t number = 0;
	int rc = 0;

	while (text.n && rc == 0) {
		size_t n = str_find(text, STR("\n"));
		struct str line = str_of(text.p, n == SIZE_MAX ? text.n : n);

		n = n == SIZE_MAX ? text.n : n + 1;
		text = str_of(text.p + n, text.n - n);
		rc = parse_line(b, line, ++number, em);
	}
	return rc;
}

/* Without the version behind the last slash; what is unsafe as %XX. */
static void
name(struct buf *b, const char *s)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "0123456789._:@+,-";
	const char *end = s ? strrchr(s, '/') : NULL;
	size_t n = s == NULL ? 0 : end && end > s ? (size_t)(end - s) : strlen(s);

	if (n == 0)
		(void)buf_addc(b, '-');
	else if (n == 1 && *s == '-')
		(void)buf_fmt(b, "%%2D");
	else
		for (size_t i = 0; i < n; i++) {
			if (strchr(safe, s[i]))
				(void)buf_addc(b, s[i]);
			else
				(void)buf_fmt(b, "%%%02X", (unsigned char)s[i]);
		}
}

void
baseline_line(const struct timeline *tl, const struct finding *f, struct buf *b)
{
	const struct tl_session *s = timeline_session_n(tl, f->session);

	(void)buf_fmt(b, "%s%s%s ", f->detector, f->variant ? "/" : "",
	    f->variant ? f->variant : "");
	name(b, s ? s->server : NULL);
	(void)buf_addc(b, ' ');
	name(b, s ? s->client : NULL);
}

static bool
is(const char *entry, struct str w)
{
	return strcmp(entry, "*") == 0 || str_eq(str_c(entry), w);
}

bool
baseline_known(struct baseline *b, const struct timeline *tl, const struct finding *f,
    bool mark)
{
	struct str line, w[3];
	struct buf text;
	bool known = false;

	buf_init(&text, 4 * MAX_LINE);
	baseline_line(tl, f, &text);
	line = buf_str(&text);
	for (int i = 0; i < 3; i++)
		w[i] = word(&line);
	for (uint32_t i = 0; i < b->n && (mark || !known); i++) {
		struct baseline_entry *e = &b->entries[i];

		if (!str_eq(str_c(e->detector), w[0]) || !is(e->server, w[1]) ||
		    !is(e->client, w[2]))
			continue;
		known = true;
		e->found |= mark;
	}
	buf_fini(&text);
	return known;
}

const struct baseline_entry *
baseline_entry(const struct baseline *b, uint32_t i)
{
	return i < b->n ? &b->entries[i] : NULL;
}
