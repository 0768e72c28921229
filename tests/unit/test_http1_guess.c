#include "util.h"

#include "mcpdiag/http1.h"

static const struct {
	const char *text;
	size_t n;
	enum http1_guess want;
} guesses[] = {
#define G(text, want) { text, sizeof(text) - 1, want }
	G("", HTTP1_IS_UNKNOWN),
	G("G", HTTP1_IS_UNKNOWN),
	G("GET", HTTP1_IS_UNKNOWN),
	G("GET ", HTTP1_IS_UNKNOWN),
	G("GET /", HTTP1_IS_REQUEST),
	G("GET / H", HTTP1_IS_REQUEST),
	G("GET /mcp?x HTTP/1.1\r\nHost", HTTP1_IS_REQUEST),
	G("OPTIONS * HTTP/1.1\r\n", HTTP1_IS_REQUEST),
	G("POST http", HTTP1_IS_REQUEST),
	G("POST ht", HTTP1_IS_UNKNOWN),
	G("POST https://h/ HTTP/1.1\r\n", HTTP1_IS_REQUEST),
	G("CONNECT h:1 HTTP/1.1\r\n", HTTP1_IS_REQUEST),
	G("DELETE /mcp HTTP/1.1\r\n", HTTP1_IS_REQUEST),
	G("ADD /mcp HTTP/1.1\r\n", HTTP1_IS_REQUEST),
	G("GET / HTTP/2.0\r\n", HTTP1_IS_OTHER),
	G("GET /a b", HTTP1_IS_OTHER),
	G("ERROR /x: no such file", HTTP1_IS_OTHER),
	G("GET /\r\n", HTTP1_IS_OTHER),
	G("HELLO WORLD", HTTP1_IS_OTHER),
	G("ABCDEFGHIJKLMNOPQRSTUVWXYZ", HTTP1_IS_OTHER),
	G("get / HTTP/1.1\r\n", HTTP1_IS_OTHER),
	G("data: {}\n\n", HTTP1_IS_OTHER),
	G("{\"jsonrpc\"", HTTP1_IS_OTHER),
	G("SSH-2.0-OpenSSH", HTTP1_IS_OTHER),
	G("H", HTTP1_IS_UNKNOWN),
	G("HTTP", HTTP1_IS_UNKNOWN),
	G("HTTP/1.", HTTP1_IS_RESPONSE),
	G("HTTP/1.1 200 OK\r\n", HTTP1_IS_RESPONSE),
	G("HTTP/1.1x", HTTP1_IS_OTHER),
	G("HTTP/2 200\r\n", HTTP1_IS_OTHER),
	G("HEAD / HTTP/1.1\r\n", HTTP1_IS_REQUEST),
	G("3", HTTP1_IS_UNKNOWN),
	G("3\r\n", HTTP1_IS_UNKNOWN),
	G("3\r\n:\n\n\r\n", HTTP1_IS_CHUNK),
	G("4B\r\ndata: {", HTTP1_IS_CHUNK),
	G("0000004b;x=\"y\"\r\ndata: {", HTTP1_IS_CHUNK),
	G("0\r\n\r\n", HTTP1_IS_CHUNK),
	G("3\r\n:\n\nxx", HTTP1_IS_OTHER),
	G("3\r\n\1\2\3\r\n", HTTP1_IS_OTHER),
	G("3\n:\n\n\r\n", HTTP1_IS_OTHER),
	G("123456789\r\nabc", HTTP1_IS_OTHER),
	G("3x\r\nabc", HTTP1_IS_OTHER),
	G("PR", HTTP1_IS_UNKNOWN),
	G("PRI * HTTP", HTTP1_IS_UNKNOWN),
	G("PRI * HTTP/2.0", HTTP1_IS_H2),
	G("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0", HTTP1_IS_H2),
	G("\0\0\x12\4\0\0\0\0\0\0\3", HTTP1_IS_H2),
	G("\0\0", HTTP1_IS_UNKNOWN),
	G("\0\0\x11\4\0\0\0\0\0", HTTP1_IS_OTHER),
	G("\0\0\x12\4\1\0\0\0\0", HTTP1_IS_OTHER),
	G("\x16", HTTP1_IS_UNKNOWN),
	G("\x16\3\1\2\0", HTTP1_IS_TLS),
	G("\x17\3\3\0\x20\xff", HTTP1_IS_TLS),
	G("\x17\3\3\0\0", HTTP1_IS_OTHER),
	G("\x17\3\3\xff\0", HTTP1_IS_OTHER),
	G("\x16\2\1", HTTP1_IS_OTHER),
	G("\x18\3\3", HTTP1_IS_OTHER),
#undef G
};

static void
test_guess(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(guesses); i++) {
		struct guard g = guard_of(guesses[i].text, guesses[i].n);
		enum http1_guess got = http1_guess(g.p, guesses[i].n);

		if (got != guesses[i].want)
			fail_msg("%s: %d, not %d", guesses[i].text, (int)got,
			    (int)guesses[i].want);
		/* Nothing that is more would have been called something else. */
		for (size_t k = 0; k < guesses[i].n; k++) {
			enum http1_guess less = http1_guess(guesses[i].text, k);

			if (got != HTTP1_IS_OTHER && less != got &&
			    less != HTTP1_IS_UNKNOWN)
				fail_msg("%s: %d at %zu", guesses[i].text,
				    (int)less, k);
		}
		guard_free(&g);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_guess),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
