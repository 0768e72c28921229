#include "screen.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mcpdiag/term.h"
#include "mcpdiag/xmem.h"
#include "save.h"

#define EVERY (100 * NS_MS)	/* paints for events */
#define KEYS (20 * NS_MS)	/* and for keys: a key held down repeats as fast */
#define SECOND NS_S
#define MAX_KEYS 64		/* dealt with before a paint */
#define SAVE_TURN 4096		/* packets saved before the loop goes on */

struct screen {
	struct loop *loop;
	struct term *term;
	struct tui *tui;
	struct store *store;
	struct save *save;
	struct screen_opts opts;
	struct grid grid;
	struct loop_fd *keys, *out;
	struct loop_timer *paint, *second, *saving;
	ns_t painted, due;		/* mono; due: 0 no paint is set */
	ns_t last, last_mono;		/* packet time, and when it was seen to be that */
	ns_t packet;			/* time of the last packet */
	size_t said;			/* bytes of stderr shown so far */
	bool ended, mouse;
	int sig;
};

static void
leave(struct screen *s, int sig)
{
	s->sig = sig;
	loop_stop(s->loop);
}

/* ---- painting ---- */

/* Something has been written to stderr: the last line of it is shown. */
static void
show_said(struct screen *s)
{
	char text[512], *line, *end;
	size_t n = term_said(s->term, s->said, text, sizeof text);

	if (n == 0)
		return;
	s->said += n;
	while (n && text[n - 1] == '\n')
		text[--n] = '\0';
	end = strrchr(text, '\n');
	line = end ? end + 1 : text;
	if (strncmp(line, "mcpdiag watch: ", 15) == 0)
		line += 15;
	tui_tell(s->tui, line);
}

static void
flush(struct screen *s)
{
	bool all = term_flush(s->term);

	if (s->out)
		loop_fd_want(s->out, all ? 0 : LOOP_WRITE);
}

static void
on_out(void *arg, int fd, unsigned ready)
{
	(void)fd;
	(void)ready;
	flush(arg);
}

/* Packet time goes on while nothing comes, where it is that of the clock. */
static ns_t
now(struct screen *s)
{
	ns_t mono = loop_mono(s->loop), last = s->packet;

	if (last != s->last || s->last_mono == 0) {
		s->last = last;
		s->last_mono = mono;
	}
	if (!s->opts.live || s->ended || last == 0)
		return last;
	return last + (mono - s->last_mono);
}

static void
paint(struct screen *s)
{
	struct tui_state state = { .done = -1 };
	int w, h;

	/* A terminal that is slow, or stands still, does not stop the capture. */
	if (term_busy(s->term)) {
		s->due = loop_mono(s->loop) + EVERY;
		loop_timer_set(s->paint, EVERY);
		return;
	}
	show_said(s);
	s->opts.state(s->opts.arg, &state);
	state.ended = s->ended;
	term_size(s->term, &w, &h);
	if (w != s->grid.w || h != s->grid.h)
		grid_resize(&s->grid, w, h);
	tui_draw(s->tui, &s->grid, &state, now(s));
	term_paint(s->term, &s->grid);
	flush(s);
	s->painted = loop_mono(s->loop);
	s->due = 0;
	loop_timer_clear(s->paint);
	if (s->opts.live && !s->ended)
		loop_timer_set(s->second, SECOND);
	else
		loop_timer_clear(s->second);
}

static void
on_paint(void *arg)
{
	paint(arg);
}

/* A paint not sooner than `apart` after the last one. */
static void
want_paint(struct screen *s, ns_t apart)
{
	ns_t mono = loop_mono(s->loop), due = s->painted + apart;

	if (s->due && s->due <= due)
		return;
	s->due = due;
	loop_timer_set(s->paint, due - mono);
}

void
screen_packet(struct screen *s, const struct packet *pk)
{
	s->packet = pk->t;
	save_packets(s->save, pk, 1);
}

void
screen_text(struct screen *s, struct str text, uint64_t bytes, bool cut)
{
	store_text(s->store, text, bytes, cut);
}

void
screen_event(struct screen *s, const struct ev *e)
{
	store_event(s->store, e);
	save_event(s->save, e);
	tui_event(s->tui, e);
	if (s->due == 0 && tui_dirty(s->tui))
		want_paint(s, EVERY);
}

void
screen_ended(struct screen *s)
{
	s->ended = true;
	want_paint(s, 0);
}

/* ---- keys ---- */

static void
set_mouse(void *arg, bool on)
{
	struct screen *s = arg;

	s->mouse = on;
	term_mouse(s->term, on);
}

static bool
take(struct screen *s, uint32_t key, int y, int x)
{
	if (key == 'L' - '@') {
		term_redraw(s->term);
		return true;
	}
	return y >= 0 ? tui_mouse(s->tui, key, y, x) : tui_key(s->tui, key);
}

static void
on_keys(void *arg, int fd, unsigned ready)
{
	struct screen *s = arg;
	uint32_t key;
	int y, x, n = 0;

	(void)fd;
	(void)ready;
	while (n < MAX_KEYS && term_key(s->term, &key, &y, &x)) {
		n++;
		if (!take(s, key, y, x)) {
			leave(s, 0);
			return;
		}
	}
	/* A terminal that is gone is ready for ever. */
	if (n == 0 && term_gone(s->term))
		leave(s, SIGHUP);
	else if (n && loop_mono(s->loop) - s->painted >= KEYS)
		paint(s);
	else if (n)
		want_paint(s, KEYS);
}

/* ---- saving, in turns ---- */

static void
on_saving(void *arg)
{
	struct screen *s = arg;
	struct errmsg em = { "" };

	if (save_turn(s->save, SAVE_TURN, &em) == 1) {
		(void)snprintf(em.text, sizeof em.text, "saving: %.0f%%",
		    save_progress(s->save) * 100);
		loop_timer_set(s->saving, 0);
	}
	tui_tell(s->tui, em.text);
	if (s->due == 0)
		want_paint(s, EVERY);
}

static bool
begin_saving(void *arg, enum tui_save what, uint32_t session, struct str path,
    const struct buf *ladder, char *said, size_t size)
{
	struct screen *s = arg;
	struct errmsg em = { "" };
	int rc = save_begin(s->save, what, session, path,
	    ladder ? buf_str(ladder) : STR_NONE, &em);

	(void)snprintf(said, size, "%s", rc == 0 ? "saving" : em.text);
	if (rc == 0)
		loop_timer_set(s->saving, 0);
	return rc == 0;
}

/* ---- signals ---- */

static void
suspend(struct screen *s)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL }, before;
	sigset_t set, old;

	term_leave(s->term);
	(void)sigemptyset(&dfl.sa_mask);
	(void)sigaction(SIGTSTP, &dfl, &before);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTSTP);
	(void)sigprocmask(SIG_UNBLOCK, &set, &old);
	/* Stops here, until somebody wants us back. */
	(void)raise(SIGTSTP);
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
	(void)sigaction(SIGTSTP, &before, NULL);
	term_back(s->term);
	paint(s);
}

static void
on_signal(void *arg, int sig)
{
	struct screen *s = arg;

	switch (sig) {
	case SIGWINCH:
		term_resized(s->term);
		paint(s);
		break;
	case SIGTSTP:
		suspend(s);
		break;
	case SIGCONT:
		term_back(s->term);
		paint(s);
		break;
	case SIGINT:
		if (s->ended) {
			leave(s, 0);
			break;
		}
		s->opts.finish(s->opts.arg);
		tui_tell(s->tui, "that was the capture: q or ^C leaves, with a summary");
		break;
	default:
		leave(s, sig);
	}
}

/* ---- life ---- */

static bool
want_color(const char *color)
{
	const char *no = getenv("NO_COLOR");

	if (color && strcmp(color, "auto") != 0)
		return strcmp(color, "always") == 0;
	return no == NULL || *no == '\0';
}

struct screen *
screen_open(struct loop *loop, const char *color)
{
	struct term *term = term_open(STDIN_FILENO, want_color(color), NULL);
	struct screen *s;

	if (term == NULL)
		return NULL;
	s = xcalloc(1, sizeof *s);
	s->loop = loop;
	s->term = term;
	return s;
}

int
screen_start(struct screen *s, const struct screen_opts *o, struct errmsg *em)
{
	static const int signals[] = { SIGWINCH, SIGTSTP, SIGCONT, SIGINT, SIGTERM, SIGHUP };
	int w, h;

	s->opts = *o;
	s->store = store_new(&o->pipe->limits);
	s->save = save_new(&(struct save_opts){ *o->pipe, o->file, o->interface });
	save_timeline(s->save, o->timeline);
	s->tui = tui_new(&(struct tui_opts){ .timeline = o->timeline, .store = s->store,
	    .ask = { s, begin_saving, s, set_mouse }, .source = o->source,
	    .live = o->live, .saved = o->saved });
	term_size(s->term, &w, &h);
	grid_init(&s->grid, w, h, term_ascii(s->term));
	s->paint = loop_timer_new(s->loop, on_paint, s);
	s->second = loop_timer_new(s->loop, on_paint, s);
	s->saving = loop_timer_new(s->loop, on_saving, s);
	s->keys = loop_fd_new(s->loop, term_fd(s->term), LOOP_READ, on_keys, s);
	if (term_out(s->term) >= 0)
		s->out = loop_fd_new(s->loop, term_out(s->term), 0, on_out, s);
	if (s->keys == NULL)
		return err_set(em, E_IO, "the terminal cannot be watched for keys");
	for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
		int rc = loop_signal(s->loop, signals[i], on_signal, s, em);

		if (rc != 0)
			return rc;
	}
	paint(s);
	return 0;
}

int
screen_close(struct screen *s)
{
	int sig;

	if (s == NULL)
		return 0;
	sig = s->sig;
	loop_fd_free(s->keys);
	loop_fd_free(s->out);
	loop_timer_free(s->paint);
	loop_timer_free(s->second);
	loop_timer_free(s->saving);
	tui_free(s->tui);
	save_free(s->save);
	store_free(s->store);
	grid_fini(&s->grid);
	term_close(s->term);
	free(s);
	return sig;
}
