/*
 * floor - lower bounds for reading a classic little-endian Ethernet pcap, to put tool times in proportion.
 *   floor MODE FILE      cc -O2 -o floor floor.c            (modes marked * need: -DHAVE_PCAP ... -lpcap)
 *   count*  libpcap: pcap_dispatch over the file, count packets
 *   walk    mmap, walk the record headers only
 *   rwalk   the same with read(2) into a 256 KiB buffer (what a pipe or --follow reader can do)
 *   rscan   rwalk + memchr for every '\n' in every TCP payload: the practical limit of looking at every byte
 *   touch   walk + load every payload byte once (64-bit sums)
 *   scan    the same as rscan over mmap
 *   flow    walk + Ethernet/IP/TCP decode + 4-tuple hash look-up + sequence check (no payload)
 *   flowscan  flow + scan
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef HAVE_PCAP
#include <pcap/pcap.h>
static uint64_t pk, pb;
static void cb(u_char *u, const struct pcap_pkthdr *h, const u_char *d) { (void)u, (void)d, pk++, pb += h->caplen; }
#endif
static inline uint32_t l32(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return v; }
static inline uint64_t l64(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return v; }
static inline uint32_t n16(const uint8_t *p) { return (uint32_t)p[0] << 8 | p[1]; }
static inline uint32_t n32(const uint8_t *p) { return __builtin_bswap32(l32(p)); }

/* TCP payload of an Ethernet frame, or NULL */
static inline const uint8_t *payload(const uint8_t *d, uint32_t cap, const uint8_t **tcp, uint32_t *iph, const uint8_t **end)
{
	uint32_t et, pl;
	if (cap < 54) return NULL;
	et = n16(d + 12);
	if (et == 0x0800) *iph = (d[14] & 15) * 4u, pl = n16(d + 16) - *iph; else if (et == 0x86dd) *iph = 40, pl = n16(d + 18); else return NULL;
	if (d[et == 0x0800 ? 23 : 20] != 6 || 14 + *iph + 20 > cap) return NULL;
	*tcp = d + 14 + *iph, *end = *tcp + pl < d + cap ? *tcp + pl : d + cap;
	return *tcp + (*tcp)[12] / 16 * 4;
}
static inline uint64_t newlines(const uint8_t *q, const uint8_t *e)
{
	uint64_t n = 0;
	while (q < e && (q = memchr(q, '\n', (size_t)(e - q)))) n++, q++;
	return n;
}
struct fl { uint64_t k[5]; uint32_t nxt[2]; uint64_t bytes[2], odd; uint8_t used, seen[2]; };
static struct fl *tab;
static size_t tmask, tn;
static struct fl *look(const uint64_t k[5])
{
	uint64_t h = 0x9E3779B97F4A7C15ull;
	for (int i = 0; i < 5; i++) h = (h ^ k[i]) * 0xff51afd7ed558ccdull, h ^= h >> 32;
	if (!tab || tn * 2 > tmask) {
		size_t om = tab ? tmask + 1 : 0;
		struct fl *o = tab;
		tmask = om ? om * 2 - 1 : 4095, tab = calloc(tmask + 1, sizeof *tab);
		for (size_t i = 0; i < om; i++)
			if (o[i].used) {
				uint64_t g = 0x9E3779B97F4A7C15ull;
				for (int j = 0; j < 5; j++) g = (g ^ o[i].k[j]) * 0xff51afd7ed558ccdull, g ^= g >> 32;
				size_t s = g & tmask;
				while (tab[s].used) s = (s + 1) & tmask;
				tab[s] = o[i];
			}
		free(o);
	}
	for (size_t s = h & tmask;; s = (s + 1) & tmask) {
		if (!tab[s].used) { memcpy(tab[s].k, k, 40), tab[s].used = 1, tn++; return tab + s; }
		if (!memcmp(tab[s].k, k, 40)) return tab + s;
	}
}
int main(int c, char **v)
{
	if (c != 3) return fputs("usage: floor count|walk|rwalk|rscan|touch|scan|flow|flowscan FILE\n", stderr), 2;
	const char *m = v[1];
	uint64_t n = 0, b = 0, nl = 0, sum = 0, odd = 0;
#ifdef HAVE_PCAP
	if (!strcmp(m, "count")) {
		char e[PCAP_ERRBUF_SIZE];
		pcap_t *p = pcap_open_offline(v[2], e);
		if (!p) return fprintf(stderr, "%s\n", e), 1;
		while (pcap_dispatch(p, -1, cb, NULL) > 0) ;
		return printf("%s packets=%llu bytes=%llu\n", m, (unsigned long long)pk, (unsigned long long)pb), 0;
	}
#else
	if (!strcmp(m, "count"))	/* never time something else under that name */
		return fputs("floor: built without libpcap\n", stderr), 2;
#endif
	int fd = open(v[2], O_RDONLY);
	struct stat st;
	if (fd < 0 || fstat(fd, &st)) return perror(v[2]), 1;
	if (!strcmp(m, "rwalk") || !strcmp(m, "rscan")) {
		int rs = m[1] == 's';
		uint32_t iph;
		const uint8_t *t, *e, *q;
		static uint8_t buf[(1 << 18) + 300000];
		size_t have = 0, o = 24;
		ssize_t r;
		while ((r = read(fd, buf + have, 1 << 18)) > 0) {
			have += (size_t)r;
			while (o + 16 <= have && o + 16 + l32(buf + o + 8) <= have) {
				uint32_t cap = l32(buf + o + 8);
				if (rs && (q = payload(buf + o + 16, cap, &t, &iph, &e))) nl += newlines(q, e);
				n++, b += cap, o += 16 + cap;
			}
			memmove(buf, buf + o, have - o), have -= o, o = 0;
		}
		return printf("%s packets=%llu bytes=%llu newlines=%llu\n", m, (unsigned long long)n, (unsigned long long)b, (unsigned long long)nl), 0;
	}
	const uint8_t *f = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0), *end = f + st.st_size, *p = f + 24;
	if (f == MAP_FAILED) return perror("mmap"), 1;
	madvise((void *)(uintptr_t)f, (size_t)st.st_size, MADV_SEQUENTIAL);
	int touch = !strcmp(m, "touch"), scan = !!strstr(m, "scan"), flow = !strncmp(m, "flow", 4);
	for (; p + 16 <= end; ) {
		uint32_t cap = l32(p + 8);
		const uint8_t *d = p + 16;
		if (d + cap > end) break;
		p = d + cap, n++, b += cap;
		if (touch) { uint64_t s = 0; for (; d + 8 <= p; d += 8) s += l64(d); sum += s; continue; }
		if (!scan && !flow) continue;
		uint32_t iph;
		const uint8_t *t, *qe, *q = payload(d, cap, &t, &iph, &qe);
		if (!q) continue;
		if (flow) {
			uint64_t k[5] = {0};
			uint32_t sp = n16(t), dp = n16(t + 2);
			uint8_t a[2][16] = {{0}};
			if (iph == 40) memcpy(a[0], d + 22, 16), memcpy(a[1], d + 38, 16); else memcpy(a[0], d + 26, 4), memcpy(a[1], d + 30, 4);
			int dir = sp > dp ? 0 : sp < dp ? 1 : memcmp(a[0], a[1], 16) > 0;
			memcpy(k, a[dir], 16), memcpy(k + 2, a[!dir], 16), k[4] = dir ? (uint64_t)dp << 16 | sp : (uint64_t)sp << 16 | dp;
			struct fl *x = look(k);
			uint32_t seq = n32(t + 4), len = (uint32_t)(qe > q ? qe - q : 0), fl = t[13];
			if (x->seen[dir] && seq != x->nxt[dir]) x->odd++, odd++;
			x->seen[dir] = 1, x->nxt[dir] = seq + len + !!(fl & 3), x->bytes[dir] += len;
		}
		if (scan) nl += newlines(q, qe);
	}
	printf("%s packets=%llu bytes=%llu newlines=%llu flows=%zu odd=%llu sum=%llx\n", m, (unsigned long long)n, (unsigned long long)b, (unsigned long long)nl, tn, (unsigned long long)odd, (unsigned long long)sum);
	return 0;
}
