/* JSON-RPC messages: however the input is cut, the messages are the same; their
 * strings obey the limit and their kind follows from their members.  The first
 * byte seeds the cuts. */
#include <stdlib.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/rpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

#define VALUE 16

static void
add(struct buf *out, struct str s)
{
	if (s.n > VALUE + 2)
		abort();
	(void)buf_fmt(out, " %d %zu:", s.p != NULL, s.n);
	(void)buf_adds(out, s);
}

static void
on_msg(void *arg, const struct rpc_msg *m)
{
	const struct str s[] = {
		m->method, m->id, m->code, m->message, m->protocol_version,
		m->client_name, m->client_version, m->result_version,
		m->server_name, m->server_version, m->progress_token,
		m->meta_token, m->cancel_id, m->name, m->uri, m->meta_version,
		m->subscription_id,
	};
	struct buf *out = arg;

	if ((m->kind == RPC_REQUEST && (m->method.p == NULL || m->id.p == NULL)) ||
	    (m->kind == RPC_NOTIFICATION &&
	    (m->method.p == NULL || m->id.p != NULL)) ||
	    ((m->kind == RPC_RESPONSE || m->kind == RPC_ERROR) &&
	    m->method.p != NULL))
		abort();
	(void)buf_fmt(out, "%d %d%d%d%d%d%d%d%d%d %x", m->kind, m->jsonrpc2,
	    m->batch, m->id_cut, m->has_capabilities, m->list_changed,
	    m->subscribe, m->supported_versions, m->meta_mcp, m->related_task,
	    m->flaws);
	for (size_t i = 0; i < sizeof s / sizeof s[0]; i++)
		add(out, s[i]);
	(void)buf_addc(out, '\n');
}

/* A copy of exactly that size, so that a read past it is seen. */
static int
feed(struct rpc *r, const uint8_t *p, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);
	int rc;

	if (copy == NULL)
		abort();
	if (n)
		memcpy(copy, p, n);
	rc = rpc_feed(r, copy, n);
	free(copy);
	return rc;
}

static void
run(struct buf *out, const uint8_t *p, size_t n, uint32_t seed)
{
	struct limits lim;
	struct rpc *r;
	int rc = 0;

	limits_init(&lim);
	lim.json_value = VALUE;
	buf_init(out, 1 << 24);
	r = rpc_new(&lim, on_msg, out);
	while (n > 0) {
		size_t k = n;

		if (seed != 0) {
			seed = seed * 1664525 + 1013904223;
			k = 1 + (seed >> 24) % (seed >> 23 & 1 ? 3 : 40);
			k = k < n ? k : n;
		}
		rc |= feed(r, p, k);
		p += k;
		n -= k;
	}
	rc |= rpc_eof(r);
	(void)buf_fmt(out, "%d", rc);
	rpc_free(r);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct buf a, b;

	if (n == 0)
		return 0;
	run(&a, p + 1, n - 1, 0);
	run(&b, p + 1, n - 1, p[0] + 1u);
	if (!str_eq(buf_str(&a), buf_str(&b)))
		abort();
	buf_fini(&a);
	buf_fini(&b);
	return 0;
}
