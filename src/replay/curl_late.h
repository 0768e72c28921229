/* curl_late: libcurl, loaded when a request is to be made and not before.
 * It brings a score of libraries, whose loading costs more time and memory
 * than the analysis of a small capture.  Its headers are used as they are; who
 * calls it does so through the table. */
#ifndef CURL_LATE_H
#define CURL_LATE_H

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include "mcpdiag/err.h"

#define CURL_LATE_CALLS(X) \
	X(global_init) X(global_cleanup) \
	X(slist_append) X(slist_free_all) \
	X(easy_init) X(easy_cleanup) X(easy_setopt) X(easy_getinfo) X(easy_strerror) \
	X(easy_pause) \
	X(multi_init) X(multi_cleanup) X(multi_setopt) X(multi_add_handle) \
	X(multi_remove_handle) X(multi_info_read) X(multi_socket_action) X(multi_assign)

struct curl_late {
#define X(name) __typeof__(&(curl_##name)) name;
	CURL_LATE_CALLS(X)
#undef X
};

/* Loads it, once for all; E_IO when it is not installed or too old. */
int curl_late_load(struct errmsg *);
/* Its functions, after curl_late_load() has returned 0. */
const struct curl_late *curl_late(void);

#endif
