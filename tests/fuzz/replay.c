/* A plain main for the fuzz targets: runs every file, and every file of every
 * folder, named on the command line, and says how many there were. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static int
run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *p = NULL;
	size_t n = 0, cap = 0, got;

	if (f == NULL) {
		perror(path);
		return -1;
	}
	do {
		if (n == cap) {
			cap = cap ? cap * 2 : 65536;
			p = realloc(p, cap);
			if (p == NULL)
				abort();
		}
		got = fread(p + n, 1, cap - n, f);
		n += got;
	} while (got > 0);
	fclose(f);
	(void)LLVMFuzzerTestOneInput(p, n);
	free(p);
	return 0;
}

int
main(int argc, char **argv)
{
	unsigned long n = 0;
	int failed = 0;

	for (int i = 1; i < argc; i++) {
		DIR *d = opendir(argv[i]);
		struct dirent *e;

		if (d == NULL) {
			failed |= run_file(argv[i]);
			n++;
			continue;
		}
		while ((e = readdir(d)) != NULL) {
			char path[4096];

			if (e->d_name[0] == '.')
				continue;
			(void)snprintf(path, sizeof path, "%s/%s", argv[i], e->d_name);
			failed |= run_file(path);
			n++;
		}
		closedir(d);
	}
	printf("%lu inputs\n", n);
	return failed ? 1 : 0;
}
