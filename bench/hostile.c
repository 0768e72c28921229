/* hostile: captures made to cost.
 *   hostile syn N      N connections that never get past their SYN
 *   hostile gaps N     one POST whose body comes as N one-byte segments with a
 *                      hole after each, so that none is ever in order
 *   hostile back N     the same, last byte first and without holes but one
 * Writes a pcap (Ethernet, IPv4) to standard output. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIN = 1, SYN = 2, PSH = 8, ACK = 16 };

static uint64_t clock_us = 1790000000ULL * 1000000;

static void
be16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void
be32(uint8_t *p, uint32_t v)
{
	be16(p, v >> 16);
	be16(p + 2, v & 0xffff);
}

static unsigned
checksum(const uint8_t *p, size_t n)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < n; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum & 0xffff;
}

static void
packet(int to_server, uint32_t client, unsigned port, uint32_t seq, uint32_t ack,
    unsigned flags, const void *data, size_t n)
{
	uint8_t f[16 + 14 + 40 + 1400] = { 0 }, *ip = f + 16 + 14, *tcp = ip + 20;
	uint32_t len = (uint32_t)(14 + 40 + n), server = 0xc0000202;
	uint32_t sec = (uint32_t)(clock_us / 1000000), us = (uint32_t)(clock_us % 1000000);

	clock_us += 10;
	memcpy(f, &sec, 4);
	memcpy(f + 4, &us, 4);
	memcpy(f + 8, &len, 4);
	memcpy(f + 12, &len, 4);
	f[16] = f[22] = 2;
	be16(f + 16 + 12, 0x0800);
	ip[0] = 0x45;
	be16(ip + 2, len - 14);
	ip[8] = 64;
	ip[9] = 6;
	be32(ip + 12, to_server ? client : server);
	be32(ip + 16, to_server ? server : client);
	be16(ip + 10, checksum(ip, 20));
	be16(tcp, to_server ? port : 8931);
	be16(tcp + 2, to_server ? 8931 : port);
	be32(tcp + 4, seq);
	be32(tcp + 8, ack);
	tcp[12] = 5 << 4;
	tcp[13] = (uint8_t)flags;
	be16(tcp + 14, 65535);
	if (n > 0)
		memcpy(tcp + 20, data, n);
	fwrite(f, 1, 16 + len, stdout);
}

static void
pieces(uint32_t n, int back)
{
	const uint32_t client = 0x0a000001, body = back ? n : 2 * n;
	char head[512];
	int h = snprintf(head, sizeof head, "POST /mcp HTTP/1.1\r\nhost: x\r\n"
	    "content-type: application/json\r\nmcp-session-id: s\r\n"
	    "mcp-protocol-version: 2025-11-25\r\ncontent-length: %u\r\n\r\n", body);
	uint32_t start = 1001 + (uint32_t)h;

	packet(1, client, 40000, 1000, 0, SYN, NULL, 0);
	packet(0, client, 40000, 5000, 1001, SYN | ACK, NULL, 0);
	packet(1, client, 40000, 1001, 5001, ACK, NULL, 0);
	packet(1, client, 40000, 1001, 5001, PSH | ACK, head, (size_t)h);
	for (uint32_t i = 1; i < n; i++) {
		uint32_t at = back ? n - i : 2 * i - 1;
		packet(1, client, 40000, start + at, 5001, PSH | ACK, "7", 1);
	}
	packet(1, client, 40000, start + body, 5001, FIN | ACK, NULL, 0);
}

int
main(int argc, char **argv)
{
	static const uint32_t header[] = { 0xa1b2c3d4, 4 << 16 | 2, 0, 0, 262144, 1 };
	uint32_t n = argc == 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;

	if (n == 0) {
		fprintf(stderr, "usage: hostile syn|gaps|back N >FILE\n");
		return 2;
	}
	fwrite(header, sizeof header, 1, stdout);
	if (strcmp(argv[1], "syn") == 0) {
		for (uint32_t i = 0; i < n; i++)
			packet(1, 0x0a000000 + i / 60000, 2000 + i % 60000, i * 7919, 0,
			    SYN, NULL, 0);
	} else if (strcmp(argv[1], "gaps") == 0 || strcmp(argv[1], "back") == 0) {
		pieces(n, argv[1][0] == 'b');
	} else {
		fprintf(stderr, "hostile: syn, gaps or back\n");
		return 2;
	}
	return fflush(stdout) != 0;
}
