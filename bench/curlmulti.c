/* curlmulti: how fast bare libcurl is: the multi socket API on epoll, POSTs of
 * a ping on kept connections, as fast as they come back.
 *	curlmulti URL CONNECTIONS REQUESTS
 * Prints requests and CPU as NAME=VALUE; exit status 1 when one fails. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>

static int ep;
static long timeout_ms = -1;
static struct curl_slist *lines;
static char sid[300];

static size_t
sink(char *p, size_t size, size_t n, void *arg)
{
	(void)p;
	(void)arg;
	return size * n;
}

static size_t
header(char *p, size_t size, size_t n, void *arg)
{
	static const char name[] = "mcp-session-id:";

	(void)arg;
	if (size * n < sizeof sid && strncasecmp(p, name, sizeof name - 1) == 0)
		(void)snprintf(sid, sizeof sid, "%.*s", (int)strcspn(p, "\r\n"), p);
	return size * n;
}

static int
on_socket(CURL *e, curl_socket_t fd, int what, void *arg, void *known)
{
	struct epoll_event v = { .data.fd = fd };

	(void)e;
	if (what == CURL_POLL_REMOVE)
		return epoll_ctl(ep, EPOLL_CTL_DEL, fd, &v) * 0;
	v.events = (what & CURL_POLL_IN ? EPOLLIN : 0) | (what & CURL_POLL_OUT ? EPOLLOUT : 0);
	(void)epoll_ctl(ep, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &v);
	(void)curl_multi_assign(arg, fd, &ep);
	return 0;
}

static int
on_timer(CURLM *m, long ms, void *arg)
{
	(void)m;
	(void)arg;
	timeout_ms = ms;
	return 0;
}

static CURL *
request(const char *url, const char *body)
{
	CURL *e = curl_easy_init();

	if (e == NULL)
		exit(2);
	(void)curl_easy_setopt(e, CURLOPT_URL, url);
	(void)curl_easy_setopt(e, CURLOPT_HTTPHEADER, lines);
	(void)curl_easy_setopt(e, CURLOPT_POSTFIELDS, body);
	(void)curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, sink);
	(void)curl_easy_setopt(e, CURLOPT_TCP_NODELAY, 1L);
	(void)curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	return e;
}

/* The session that all pings belong to. */
static void
begin(const char *url)
{
	CURL *e;

	lines = curl_slist_append(lines, "Content-Type: application/json");
	lines = curl_slist_append(lines, "Accept: application/json, text/event-stream");
	lines = curl_slist_append(lines, "Expect:");
	e = request(url, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":"
	    "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":"
	    "{\"name\":\"b\",\"version\":\"1\"}}}");
	(void)curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, header);
	if (curl_easy_perform(e) != CURLE_OK || sid[0] == '\0') {
		fprintf(stderr, "curlmulti: no session at %s\n", url);
		exit(1);
	}
	curl_easy_cleanup(e);
	lines = curl_slist_append(lines, sid);
}

static double
now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int
main(int argc, char **argv)
{
	static const char ping[] = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}";
	long n_conns = argc == 4 ? strtol(argv[2], NULL, 10) : 0;
	long n = argc == 4 ? strtol(argv[3], NULL, 10) : 0, sent = 0, done = 0;
	struct epoll_event v[256];
	struct rusage ru;
	int running = 1, left;
	double start;
	CURLMsg *msg;
	CURLM *m;

	if (n_conns < 1 || n < n_conns)
		return 2;
	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
	begin(argv[1]);
	ep = epoll_create1(0);
	m = curl_multi_init();
	(void)curl_multi_setopt(m, CURLMOPT_SOCKETFUNCTION, on_socket);
	(void)curl_multi_setopt(m, CURLMOPT_SOCKETDATA, m);
	(void)curl_multi_setopt(m, CURLMOPT_TIMERFUNCTION, on_timer);
	start = now();
	for (; sent < n_conns; sent++)
		(void)curl_multi_add_handle(m, request(argv[1], ping));
	while (done < n) {
		int k = epoll_wait(ep, v, 256, timeout_ms < 0 ? 1000 : (int)timeout_ms);

		if (k == 0)
			(void)curl_multi_socket_action(m, CURL_SOCKET_TIMEOUT, 0, &running);
		for (int i = 0; i < k; i++)
			(void)curl_multi_socket_action(m, v[i].data.fd,
			    (v[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
			    (v[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0), &running);
		while ((msg = curl_multi_info_read(m, &left)) != NULL) {
			CURL *e = msg->easy_handle;
			long status = 0;

			(void)curl_easy_getinfo(e, CURLINFO_RESPONSE_CODE, &status);
			if (msg->data.result != CURLE_OK || status != 200)
				return 1;
			(void)curl_multi_remove_handle(m, e);
			curl_easy_cleanup(e);
			done++;
			if (sent < n) {
				(void)curl_multi_add_handle(m, request(argv[1], ping));
				sent++;
			}
		}
	}
	start = now() - start;
	(void)getrusage(RUSAGE_SELF, &ru);
	printf("n=%ld wall=%.6f cpu=%.6f\n", n, start, (double)(ru.ru_utime.tv_sec +
	    ru.ru_stime.tv_sec) + (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6);
	return 0;
}
