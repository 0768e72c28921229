#include "mcpdiag/term.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

#define NCURSES_WIDECHAR 1
#include <curses.h>

#include "mcpdiag/xmem.h"

#define ESC_MS 25		/* an ESC alone, or the start of a key */
#define MAX_RESTORE 256
#define MAX_PENDING (8U << 20)	/* bytes the terminal has not taken yet */
#define LAST_WAIT 20		/* tenths of a second: for it to take the last ones */

struct look {
	attr_t attr;
	short pair;
};

struct term {
	SCREEN *screen;
	FILE *in, *out;
	struct grid shown;		/* on the terminal */
	struct look looks[STYLE_N][2];	/* [1]: selected */
	bool ascii, away;		/* away: the normal screen is up */
	/* curses writes into a file in memory, and from there it goes to the
	 * terminal as that takes it: to be slow, or to stand still, blocks
	 * nobody.  tty -1: the terminal cannot be opened once more; then curses
	 * writes to it. */
	int tty, mem;
	struct buf pending;
	struct termios mode;		/* while the screen is up */
};

static const int crashes[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGSYS, SIGTRAP,
    SIGQUIT };

#define N_CRASHES (sizeof crashes / sizeof crashes[0])

/* What a signal handler needs to give the terminal back, and nothing else can
 * be asked there: the one thing that has no owner to come in by. */
static struct {
	volatile sig_atomic_t on;
	int fd, said, err;		/* err: the real stderr; said: what it got */
	struct termios mode;
	char text[MAX_RESTORE];
	size_t n;
	struct sigaction before[N_CRASHES];
	void *stack;
} restore = { .fd = -1, .said = -1, .err = -1 };

/* ---- giving it back ---- */

/* Only what may be called from a signal handler. */
static void
pass_on_stderr(void)
{
	char piece[512];
	off_t at = 0;
	ssize_t n;

	if (restore.said < 0)
		return;
	while ((n = pread(restore.said, piece, sizeof piece, at)) > 0) {
		at += n;
		if (write(restore.err, piece, (size_t)n) != n)
			return;
	}
}

static void
give_back(void)
{
	if (!restore.on)
		return;
	restore.on = 0;
	if (write(restore.fd, restore.text, restore.n) < 0) {
		/* It is gone: nothing is left to be put right. */
	}
	(void)tcsetattr(restore.fd, TCSANOW, &restore.mode);
	pass_on_stderr();
}

static void
on_crash(int sig)
{
	int saved = errno;

	give_back();
	errno = saved;
	/* The handler was for once: now it means what it always means. */
	(void)raise(sig);
}

/* Without the padding that old terminals want: "$<5>". */
static void
add_restore(const char *cap)
{
	if (cap == NULL || cap == (char *)-1)
		return;
	while (*cap && restore.n < MAX_RESTORE) {
		if (cap[0] == '$' && cap[1] == '<' && strchr(cap, '>'))
			cap = strchr(cap, '>') + 1;
		else
			restore.text[restore.n++] = *cap++;
	}
}

static const char *
capability(const char *name)
{
	char copy[8];			/* tigetstr() takes no const */

	(void)snprintf(copy, sizeof copy, "%s", name);
	return tigetstr(copy);
}

static void
arm(int fd)
{
	struct sigaction sa = { .sa_handler = on_crash,
	    .sa_flags = SA_RESETHAND | SA_NODEFER | SA_ONSTACK };
	stack_t ss = { .ss_size = 64 << 10 };

	restore.fd = fd;
	restore.n = 0;
	add_restore("\030");			/* ends what was cut in the middle */
	add_restore("\033[?1006l\033[?1000l");	/* mouse off */
	add_restore(capability("sgr0"));
	add_restore(capability("rmkx"));
	add_restore(capability("cnorm"));
	add_restore(capability("rmcup"));
	if (restore.stack == NULL)
		restore.stack = xmalloc(ss.ss_size);
	ss.ss_sp = restore.stack;
	(void)sigaltstack(&ss, NULL);
	(void)sigemptyset(&sa.sa_mask);
	for (size_t i = 0; i < N_CRASHES; i++)
		(void)sigaction(crashes[i], &sa, &restore.before[i]);
	restore.on = 1;
}

static void
disarm(void)
{
	stack_t ss = { .ss_flags = SS_DISABLE };

	restore.on = 0;
	for (size_t i = 0; i < N_CRASHES; i++)
		(void)sigaction(crashes[i], &restore.before[i], NULL);
	(void)sigaltstack(&ss, NULL);
	free(restore.stack);
	restore.stack = NULL;
}

/* What goes to stderr while the screen is up would tear it: it is kept, and
 * said when the terminal is as it was. */
static void
catch_stderr(void)
{
	int fd;

	if (!isatty(STDERR_FILENO))
		return;
	fd = memfd_create("stderr", MFD_CLOEXEC);
	if (fd < 0)
		return;
	restore.err = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (restore.err < 0 || fcntl(fd, F_SETFL, O_APPEND) < 0 || dup2(fd, STDERR_FILENO) < 0) {
		(void)close(fd);
		return;
	}
	restore.said = fd;
}

static void
release_stderr(void)
{
	if (restore.said < 0)
		return;
	(void)dup2(restore.err, STDERR_FILENO);
	pass_on_stderr();
	(void)close(restore.said);
	(void)close(restore.err);
	restore.said = restore.err = -1;
}

/* ---- looks ---- */

struct paint {
	short c256, c8;			/* colours; -1: the terminal's own */
	short b256, b8;			/* behind it */
	attr_t attr, mono;		/* with colours, without */
};

static const struct paint paints[STYLE_N] = {
	[STYLE_PLAIN] = { -1, -1, -1, -1, 0, 0 },
	[STYLE_DIM] = { 245, -1, -1, -1, 0, 0 },
	[STYLE_BOLD] = { -1, -1, -1, -1, A_BOLD, A_BOLD },
	[STYLE_TITLE] = { 81, COLOR_CYAN, -1, -1, A_BOLD, A_BOLD },
	[STYLE_KEY] = { -1, -1, -1, -1, A_BOLD, A_BOLD },
	[STYLE_ERROR] = { 203, COLOR_RED, -1, -1, A_BOLD, A_BOLD },
	[STYLE_WARNING] = { 214, COLOR_YELLOW, -1, -1, 0, A_BOLD },
	[STYLE_INFO] = { 75, COLOR_CYAN, -1, -1, 0, 0 },
	[STYLE_GOOD] = { 78, COLOR_GREEN, -1, -1, 0, 0 },
	[STYLE_PRIMARY] = { 78, COLOR_GREEN, -1, -1, A_BOLD, A_BOLD },
	[STYLE_SHADOW] = { 248, -1, -1, -1, 0, 0 },
	[STYLE_ORPHAN] = { 214, COLOR_YELLOW, -1, -1, 0, 0 },
	[STYLE_CLIENT] = { 117, COLOR_CYAN, -1, -1, 0, 0 },
	[STYLE_SERVER] = { 183, COLOR_MAGENTA, -1, -1, 0, 0 },
	[STYLE_MATCH] = { 16, COLOR_BLACK, 226, COLOR_YELLOW, 0, A_UNDERLINE | A_BOLD },
	[STYLE_MARK] = { 16, COLOR_BLACK, 214, COLOR_YELLOW, 0, A_REVERSE },
	[STYLE_BAR] = { 252, COLOR_BLACK, 238, COLOR_CYAN, 0, A_REVERSE },
	[STYLE_BORDER] = { 240, -1, -1, -1, 0, 0 },
};

#define BEHIND_SELECTED_256 24

static void
make_looks(struct term *t, bool color)
{
	bool many = color && COLORS >= 256 && COLOR_PAIRS > 2 * STYLE_N;

	for (short i = 0; i < STYLE_N; i++) {
		const struct paint *p = &paints[i];
		struct look *plain = &t->looks[i][0], *selected = &t->looks[i][1];
		short pair = (short)(2 * i + 1);

		*plain = (struct look){ color ? p->attr : p->mono, 0 };
		*selected = *plain;
		/* Of what is reverse already the reverse is nothing. */
		selected->attr ^= A_REVERSE;
		if (!color)
			continue;
		(void)init_pair(pair, many ? p->c256 : p->c8, many ? p->b256 : p->b8);
		plain->pair = selected->pair = pair;
		if (!many)
			continue;
		(void)init_pair((short)(pair + 1), p->b256 == -1 ? p->c256 : p->c256,
		    p->b256 == -1 ? BEHIND_SELECTED_256 : p->b256);
		*selected = (struct look){ p->attr | A_BOLD, (short)(pair + 1) };
	}
}

/* ---- the way to the terminal ---- */

/* From here on curses takes the file for its terminal; its modes are set. */
static void
divert(struct term *t)
{
	const char *name = ttyname(STDOUT_FILENO);

	t->tty = name ? open(name, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
	t->mem = memfd_create("screen", MFD_CLOEXEC);
	if (t->tty >= 0 && t->mem >= 0 && fcntl(t->mem, F_SETFL, O_APPEND) == 0 &&
	    dup2(t->mem, fileno(t->out)) >= 0)
		return;
	if (t->tty >= 0)
		(void)close(t->tty);
	if (t->mem >= 0)
		(void)close(t->mem);
	t->tty = t->mem = -1;
}

static void
collect(struct term *t)
{
	char piece[4096];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(t->mem, piece, sizeof piece, at)) > 0) {
		(void)buf_add(&t->pending, piece, (size_t)n);
		at += n;
	}
	/* A file in memory that is made shorter: there is nothing to fail. */
	if (at > 0 && ftruncate(t->mem, 0) != 0)
		buf_clear(&t->pending);
}

bool
term_flush(struct term *t)
{
	if (t->tty < 0)
		return true;
	collect(t);
	while (t->pending.n) {
		ssize_t n = write(t->tty, t->pending.p, t->pending.n);

		if (n > 0)
			buf_drop(&t->pending, (size_t)n);
		else if (n < 0 && errno == EAGAIN)
			return false;
		else if (n == 0 || errno != EINTR)
			buf_clear(&t->pending);		/* it is gone */
	}
	return true;
}

/* All of it, but not for ever. */
static void
flush_last(struct term *t)
{
	struct pollfd p = { .fd = t->tty, .events = POLLOUT };

	for (int i = 0; i < LAST_WAIT && !term_flush(t); i++)
		(void)poll(&p, 1, 100);
	buf_clear(&t->pending);
}

int
term_out(const struct term *t)
{
	return t->tty;
}

bool
term_busy(const struct term *t)
{
	return t->pending.n > 0;
}

/* ---- life ---- */

static bool
can_be_painted(void)
{
	const char *term = getenv("TERM");

	return term && *term && strcmp(term, "dumb") != 0 && strcmp(term, "unknown") != 0;
}

/* In the modes that keys and screen need. */
static void
set_modes(struct term *t)
{
	(void)cbreak();			/* ^C and ^Z stay signals, of the whole job */
	(void)noecho();
	(void)nonl();
	(void)nodelay(stdscr, TRUE);
	(void)keypad(stdscr, TRUE);
	(void)intrflush(stdscr, FALSE);
	(void)curs_set(0);
	(void)set_escdelay(ESC_MS);
	(void)typeahead(-1);		/* what is painted is painted whole */
	/* ^S is no key to stop a capture with. */
	if (tcgetattr(STDOUT_FILENO, &t->mode) == 0) {
		t->mode.c_iflag &= ~(tcflag_t)IXON;
		(void)tcsetattr(STDOUT_FILENO, TCSANOW, &t->mode);
	}
}

struct term *
term_open(int in, bool color, struct errmsg *em)
{
	struct term *t;
	int fd = -1;

	if (!isatty(STDOUT_FILENO) || !can_be_painted()) {
		err_set(em, E_USAGE, "this terminal cannot be painted");
		return NULL;
	}
	if (in < 0 || !isatty(in))
		fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
	else
		fd = fcntl(in, F_DUPFD_CLOEXEC, 3);
	if (fd < 0 || tcgetattr(STDOUT_FILENO, &restore.mode) != 0) {
		if (fd >= 0)
			(void)close(fd);
		err_set(em, E_USAGE, "no terminal to read keys from");
		return NULL;
	}
	t = xcalloc(1, sizeof *t);
	t->tty = t->mem = -1;
	(void)setlocale(LC_CTYPE, "");
	t->ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	t->in = fdopen(fd, "r");
	t->out = fdopen(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), "w");
	t->screen = t->in && t->out ? newterm(NULL, t->out, t->in) : NULL;
	if (t->screen == NULL) {
		err_set(em, E_USAGE, "TERM=%.60s: no such terminal is known",
		    getenv("TERM"));
		if (t->in)
			(void)fclose(t->in);
		if (t->out)
			(void)fclose(t->out);
		free(t);
		return NULL;
	}
	arm(STDOUT_FILENO);
	catch_stderr();
	color &= has_colors();
	if (color) {
		(void)start_color();
		(void)use_default_colors();
	}
	make_looks(t, color);
	set_modes(t);
	buf_init(&t->pending, MAX_PENDING);
	divert(t);
	grid_init(&t->shown, 1, 1, t->ascii);
	term_redraw(t);
	return t;
}

void
term_leave(struct term *t)
{
	if (t->away)
		return;
	t->away = true;
	(void)endwin();
	flush_last(t);
	(void)tcsetattr(STDOUT_FILENO, TCSANOW, &restore.mode);
	restore.on = 0;
}

void
term_close(struct term *t)
{
	if (t == NULL)
		return;
	if (!t->away)
		term_leave(t);
	disarm();
	delscreen(t->screen);
	(void)fclose(t->in);
	(void)fclose(t->out);
	if (t->tty >= 0) {
		(void)close(t->tty);
		(void)close(t->mem);
	}
	release_stderr();
	grid_fini(&t->shown);
	buf_fini(&t->pending);
	free(t);
}

int
term_fd(const struct term *t)
{
	return fileno(t->in);
}

bool
term_ascii(const struct term *t)
{
	return t->ascii;
}

void
term_size(const struct term *t, int *w, int *h)
{
	(void)t;
	*w = COLS > 0 ? COLS : 80;
	*h = LINES > 0 ? LINES : 24;
}

bool
term_gone(const struct term *t)
{
	struct pollfd p = { .fd = fileno(t->in), .events = POLLIN };

	return poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

/* ---- painting ---- */

void
term_redraw(struct term *t)
{
	for (int i = 0; i < t->shown.w * t->shown.h; i++)
		t->shown.cells[i] = (struct cell){ UINT32_MAX, 0 };
	(void)clearok(curscr, TRUE);
}

void
term_resized(struct term *t)
{
	struct winsize ws;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) != 0 || ws.ws_row == 0 || ws.ws_col == 0)
		return;
	if (is_term_resized(ws.ws_row, ws.ws_col))
		(void)resizeterm(ws.ws_row, ws.ws_col);
	term_redraw(t);
}

static void
paint_cell(const struct term *t, int y, int x, struct cell c)
{
	unsigned style = c.style & ~(unsigned)STYLE_SELECTED;
	const struct look *l = &t->looks[style < STYLE_N ? style : 0]
	    [(c.style & STYLE_SELECTED) != 0];
	wchar_t text[2] = { (wchar_t)c.ch, 0 };
	cchar_t cc;

	if (setcchar(&cc, text, l->attr, l->pair, NULL) == OK)
		(void)mvadd_wch(y, x, &cc);
}

static bool
same(struct cell a, struct cell b)
{
	return a.ch == b.ch && a.style == b.style;
}

void
term_paint(struct term *t, const struct grid *g)
{
	if (t->away)
		return;
	if (g->w != t->shown.w || g->h != t->shown.h) {
		grid_resize(&t->shown, g->w, g->h);
		term_redraw(t);
	}
	for (int y = 0; y < g->h && y < LINES; y++) {
		const struct cell *new = grid_at(g, y, 0);
		struct cell *old = grid_at(&t->shown, y, 0);

		for (int x = 0; x < g->w && x < COLS; x++) {
			/* A wide one and what follows it go together. */
			bool wide = x + 1 < g->w && new[x + 1].ch == 0;

			if (new[x].ch != 0 && (!same(new[x], old[x]) ||
			    (wide && !same(new[x + 1], old[x + 1]))))
				paint_cell(t, y, x, new[x]);
		}
		memcpy(old, new, (size_t)g->w * sizeof *old);
	}
	(void)refresh();
}

/* ---- keys ---- */

static const struct {
	int curses;
	uint32_t key;
} keys[] = {
	{ KEY_UP, TUI_UP }, { KEY_DOWN, TUI_DOWN }, { KEY_LEFT, TUI_LEFT },
	{ KEY_RIGHT, TUI_RIGHT }, { KEY_HOME, TUI_HOME }, { KEY_END, TUI_END },
	{ KEY_PPAGE, TUI_PGUP }, { KEY_NPAGE, TUI_PGDN }, { KEY_BACKSPACE, TUI_BACKSPACE },
	{ KEY_DC, TUI_DELETE }, { KEY_ENTER, TUI_ENTER }, { KEY_BTAB, TUI_BACKTAB },
	{ KEY_FIND, TUI_HOME }, { KEY_SELECT, TUI_END }, { KEY_SUSPEND, 'Z' - '@' },
};

static bool
mouse(uint32_t *key, int *y, int *x)
{
	MEVENT m;

	if (getmouse(&m) != OK)
		return false;
	*y = m.y;
	*x = m.x;
	if (m.bstate & BUTTON4_PRESSED)
		*key = TUI_WHEEL_UP;
#ifdef BUTTON5_PRESSED
	else if (m.bstate & BUTTON5_PRESSED)
		*key = TUI_WHEEL_DOWN;
#endif
	else if (m.bstate & (BUTTON1_PRESSED | BUTTON1_CLICKED))
		*key = TUI_CLICK;
	else
		return false;
	return true;
}

static bool
plain_key(wint_t c, uint32_t *key)
{
	switch (c) {
	case '\r': case '\n':
		*key = TUI_ENTER;
		break;
	case '\t':
		*key = TUI_TAB;
		break;
	case '\033':
		*key = TUI_ESC;
		break;
	case 0x7f: case '\b':
		*key = TUI_BACKSPACE;
		break;
	default:
		*key = (uint32_t)c;
	}
	return true;
}

static bool
special_key(wint_t c, uint32_t *key, int *y, int *x)
{
	if (c == KEY_MOUSE)
		return mouse(key, y, x);
	if (c >= (wint_t)KEY_F(1) && c <= (wint_t)KEY_F(10)) {
		*key = TUI_F1 + (uint32_t)c - (uint32_t)KEY_F(1);
		return true;
	}
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (c == (wint_t)keys[i].curses) {
			*key = keys[i].key;
			return true;
		}
	return false;
}

bool
term_key(struct term *t, uint32_t *key, int *y, int *x)
{
	wint_t c;
	int rc;

	*y = *x = -1;
	if (t->away)
		return false;
	/* Those without a meaning are passed over. */
	while ((rc = get_wch(&c)) != ERR)
		if (rc == KEY_CODE_YES ? special_key(c, key, y, x) : plain_key(c, key))
			return true;
	return false;
}

void
term_mouse(struct term *t, bool on)
{
	(void)t;
	(void)mouseinterval(0);
	(void)mousemask(on ? (BUTTON1_PRESSED | BUTTON4_PRESSED
#ifdef BUTTON5_PRESSED
	    | BUTTON5_PRESSED
#endif
	    ) : 0, NULL);
}

/* ---- going away and coming back ---- */

void
term_back(struct term *t)
{
	if (t->away) {
		(void)tcsetattr(STDOUT_FILENO, TCSANOW, &t->mode);
		restore.on = 1;
	}
	t->away = false;
	term_resized(t);
	term_redraw(t);
	(void)refresh();
}

size_t
term_said(const struct term *t, size_t from, char *text, size_t size)
{
	ssize_t n = 0;

	(void)t;
	if (restore.said >= 0 && size > 0)
		n = pread(restore.said, text, size - 1, (off_t)from);
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}
