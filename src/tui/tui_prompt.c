#include <stdio.h>

#include "mcpdiag/esc.h"
#include "tui_priv.h"

#define MAX_TEXT 1024

void
tui_prompt(struct tui *t, const char *label, const char *initial,
    void (*done)(struct view *, struct str text), struct view *v)
{
	struct prompt *p = &t->prompt;

	p->on = true;
	(void)snprintf(p->label, sizeof p->label, "%s", label);
	buf_fini(&p->text);
	buf_init(&p->text, MAX_TEXT);
	(void)buf_adds(&p->text, str_c(initial));
	p->at = p->text.n;
	p->done = done;
	p->view = v;
	t->dirty = true;
}

/* Start of the character before the cursor, and of the one after that at it. */
static size_t
before(const struct prompt *p)
{
	size_t at = p->at;

	while (at > 0 && ((unsigned char)p->text.p[--at] & 0xc0) == 0x80)
		;
	return at;
}

static size_t
after(const struct prompt *p)
{
	size_t at = p->at;

	if (at < p->text.n)
		at++;
	while (at < p->text.n && ((unsigned char)p->text.p[at] & 0xc0) == 0x80)
		at++;
	return at;
}

static void
cut(struct prompt *p, size_t from, size_t to)
{
	if (from < to)
		memmove(p->text.p + from, p->text.p + to, p->text.n - to);
	p->text.n -= to - from;
	p->at = from;
}

static size_t
encode(uint32_t c, char u[4])
{
	if (c < 0x80) {
		u[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		u[0] = (char)(0xc0 | c >> 6);
		u[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		u[0] = (char)(0xe0 | c >> 12);
		u[1] = (char)(0x80 | (c >> 6 & 0x3f));
		u[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	u[0] = (char)(0xf0 | c >> 18);
	u[1] = (char)(0x80 | (c >> 12 & 0x3f));
	u[2] = (char)(0x80 | (c >> 6 & 0x3f));
	u[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

static void
insert(struct prompt *p, uint32_t c)
{
	char u[4];
	size_t n;

	if (c < 0x20 || c == 0x7f || c > 0x10ffff)
		return;
	n = encode(c, u);
	if (buf_room(&p->text, n) == NULL)
		return;
	memmove(p->text.p + p->at + n, p->text.p + p->at, p->text.n - p->at);
	memcpy(p->text.p + p->at, u, n);
	p->text.n += n;
	p->at += n;
}

static void
done(struct tui *t)
{
	struct prompt *p = &t->prompt;
	struct buf text = p->text;

	/* The answer may be another question. */
	buf_init(&p->text, MAX_TEXT);
	p->on = false;
	p->done(p->view, buf_str(&text));
	buf_fini(&text);
}

static void
erase_word(struct prompt *p)
{
	size_t end = p->at;

	while (p->at > 0 && p->text.p[p->at - 1] == ' ')
		p->at--;
	while (p->at > 0 && p->text.p[p->at - 1] != ' ')
		p->at--;
	cut(p, p->at, end);
}

void
prompt_key(struct tui *t, uint32_t key)
{
	struct prompt *p = &t->prompt;

	switch (key) {
	case TUI_ESC: case 'C' - '@': case 'G' - '@':
		p->on = false;
		break;
	case TUI_ENTER: case '\r': case '\n':
		done(t);
		break;
	case TUI_LEFT: case 'B' - '@':
		p->at = before(p);
		break;
	case TUI_RIGHT: case 'F' - '@':
		p->at = after(p);
		break;
	case TUI_HOME: case 'A' - '@':
		p->at = 0;
		break;
	case TUI_END: case 'E' - '@':
		p->at = p->text.n;
		break;
	case TUI_BACKSPACE: case 0x7f: case '\b':
		if (p->text.n == 0)
			p->on = false;		/* as in less and vi */
		else
			cut(p, before(p), p->at);
		break;
	case TUI_DELETE: case 'D' - '@':
		cut(p, p->at, after(p));
		break;
	case 'U' - '@':
		cut(p, 0, p->at);
		break;
	case 'K' - '@':
		cut(p, p->at, p->text.n);
		break;
	case 'W' - '@':
		erase_word(p);
		break;
	default:
		insert(p, key);
	}
}

void
prompt_draw(struct tui *t, struct grid *g, int y)
{
	struct prompt *p = &t->prompt;
	struct str s = buf_str(&p->text), left = str_of(s.p, p->at);
	int x = grid_fmt(g, y, 0, g->w / 2, STYLE_KEY, "%s: ", p->label);
	struct cell *c;

	/* What is left of the cursor stays in sight, as much as there is room. */
	while (left.n && x + grid_width(left) >= g->w - 1) {
		left.p++;
		left.n--;
	}
	s = str_of(left.p, (size_t)(s.p + s.n - left.p));
	(void)grid_text(g, y, x, g->w - x, STYLE_PLAIN, s);
	c = grid_at(g, y, x + grid_width(left));
	if (c)
		c->style |= STYLE_SELECTED;
}
