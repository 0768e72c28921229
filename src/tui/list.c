#include "view.h"

/* The cursor moves by `by`, and stops at the ends. */
static void
move(struct list *l, int64_t by)
{
	int64_t at = (int64_t)l->at + by;

	if (at >= (int64_t)l->n)
		at = (int64_t)l->n - 1;
	l->at = at < 0 ? 0 : (uint32_t)at;
}

bool
list_key(struct list *l, uint32_t key)
{
	int page = l->page > 1 ? l->page : 1;
	int half = page > 1 ? page / 2 : 1;

	switch (key) {
	case TUI_UP: case TUI_WHEEL_UP: case 'k':
		move(l, -1);
		return true;
	case TUI_DOWN: case TUI_WHEEL_DOWN: case 'j':
		move(l, 1);
		return true;
	case TUI_PGUP: case 'B' - '@': case 'b':
		move(l, -page);
		return true;
	case TUI_PGDN: case 'F' - '@':
		move(l, page);
		return true;
	case 'U' - '@':
		move(l, -half);
		return true;
	case 'D' - '@':
		move(l, half);
		return true;
	case TUI_HOME: case 'g':
		l->at = 0;
		return true;
	case TUI_END: case 'G':
		move(l, (int64_t)l->n);
		return true;
	}
	return false;
}

void
list_show(struct list *l, int rows)
{
	uint32_t h = rows > 0 ? (uint32_t)rows : 0;

	l->page = rows > 0 ? rows : 0;
	if (l->at >= l->n)
		l->at = l->n ? l->n - 1 : 0;
	if (h == 0) {
		l->top = l->at;
		return;
	}
	if (l->at < l->top)
		l->top = l->at;
	if (l->at - l->top >= h)
		l->top = l->at - h + 1;
	/* No empty rows at the end while there is something above. */
	if (l->n < h)
		l->top = 0;
	else if (l->top > l->n - h)
		l->top = l->n - h;
}

bool
list_click(struct list *l, int row)
{
	uint32_t at;

	if (row < 0 || row >= l->page || (uint32_t)row >= l->n - l->top)
		return false;
	at = l->top + (uint32_t)row;
	if (at == l->at)
		return true;
	l->at = at;
	return false;
}
