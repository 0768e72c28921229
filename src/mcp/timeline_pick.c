#include "mcpdiag/xmem.h"
#include "timeline_priv.h"

uint32_t
timeline_hide(struct timeline *tl, bool (*hide)(void *, const struct finding *), void *arg)
{
	uint32_t n = 0, before = tl->n_findings;

	for (uint32_t i = 0; i < before; i++) {
		const struct finding *f = tl->findings[i];

		if (hide(arg, f))
			tl->n_hidden += f->severity != SEV_INFO;
		else
			tl->findings[n++] = f;
	}
	tl->n_findings = n;
	return before - n;
}

uint32_t
timeline_hidden(const struct timeline *tl)
{
	return tl->n_hidden;
}

void
timeline_pick(struct timeline *tl, uint32_t session, uint32_t stream)
{
	struct tl_stream *t = timeline_find_stream(tl, stream);
	struct tl_session *s = timeline_find_session(tl, session);

	if (s)
		s->picked = true;
	if (t)
		t->picked = true;
}

/* Their numbers in each session; the others stay where they are to be found by
 * number and to be freed. */
void
timeline_show_picked(struct timeline *tl)
{
	const struct tl_stream *t;
	uint32_t n = 0;

	/* Both walks leave out what the limits have dropped. */
	for (uint32_t i = 0; timeline_session(tl, i); i++) {
		struct sess *s = tl->sorder[i];
		uint32_t k = 0;

		for (uint32_t j = 0; j < s->s.n_streams; j++) {
			t = timeline_stream_n(tl, s->s.streams[j]);
			if (t && t->picked)
				s->s.streams[k++] = s->s.streams[j];
		}
		s->s.n_streams = k;
	}
	(void)timeline_stream(tl, 0);
	tl->shown_sessions = xcalloc(tl->n_sorder + 1, sizeof(void *));
	tl->shown_streams = xcalloc(tl->n_order + 1, sizeof(void *));
	for (uint32_t i = 0; i < tl->n_sorder; i++)
		if (tl->sorder[i]->s.picked)
			tl->shown_sessions[n++] = &tl->sorder[i]->s;
	n = 0;
	for (uint32_t i = 0; i < tl->n_order; i++)
		if (tl->order[i]->s.picked)
			tl->shown_streams[n++] = &tl->order[i]->s;
}
