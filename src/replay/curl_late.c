#include "curl_late.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* As map's secret: what is loaded into a process is loaded for all of it. */
static struct curl_late *
table(void)
{
	static struct curl_late t;

	return &t;
}

/* The ABI that all since 7.16 have: curl.se/libcurl/abi.html. */
static void *
library(void)
{
	static const char *const names[] = {
		"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so",
	};
	void *lib = NULL;

	for (size_t i = 0; i < sizeof names / sizeof *names && lib == NULL; i++)
		lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	return lib;
}

int
curl_late_load(struct errmsg *em)
{
	static const struct {
		const char *name;
		size_t at;
	} calls[] = {
#define X(name) { "curl_" #name, offsetof(struct curl_late, name) },
		CURL_LATE_CALLS(X)
#undef X
	};
	struct curl_late t;
	void *lib, *f;

	if (table()->global_init)
		return 0;
	lib = library();		/* stays until the process ends */
	if (lib == NULL)
		return err_set(em, E_IO, "libcurl is not installed: %s", dlerror());
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		f = dlsym(lib, calls[i].name);
		if (f == NULL)
			return err_set(em, E_IO, "libcurl is too old: no %s", calls[i].name);
		/* A pointer to a function is stored as POSIX dlsym() shows it. */
		memcpy((char *)&t + calls[i].at, &f, sizeof f);
	}
	*table() = t;
	return 0;
}

const struct curl_late *
curl_late(void)
{
	return table();
}
