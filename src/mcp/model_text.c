#include "mcpdiag/model.h"

#include "model_priv.h"

void
model_texts(struct model *m, ev_text_fn *fn, void *arg)
{
	m->text_fn = fn;
	m->text_arg = arg;
}

void
model_long_requests(struct model *m, size_t max)
{
	m->request_text = max;
}

size_t
model_request_text(const struct model *m)
{
	return m->request_text;
}

bool
model_wants_texts(const struct model *m)
{
	return m->text_fn != NULL;
}

void
model_text(struct model *m, enum ev_type of, struct str text, uint64_t bytes, bool cut)
{
	m->text = m->text_fn ? text : STR_NONE;
	m->text_of = of;
	m->text_bytes = bytes;
	m->text_cut = cut;
}

void
model_text_end(struct model *m)
{
	m->text = STR_NONE;
}

void
model_secret(const struct model *m, struct str raw, struct buf *out)
{
	secret_print(m, raw, out);
}

void
model_target(const struct model *m, struct str raw, struct buf *out)
{
	target_print(m, raw, out);
}
