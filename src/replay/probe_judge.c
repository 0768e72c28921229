#include "mcpdiag/probe.h"

/* Sets of answers. */
#define IS(x) (1U << PROBE_##x)
#define STREAM (IS(OPEN) | IS(ENDED))
#define BAD (IS(400) | IS(4XX))
#define REFUSED (BAD | IS(401) | IS(404) | IS(405) | IS(409) | IS(429))
#define NOTHING (IS(SILENT) | IS(CUT))
#define GIVEN (IS(PLAIN) | STREAM)

enum heard {			/* who had the messages; a set */
	H_UNKNOWN = 1,		/* none was asked for */
	H_NONE = 2,
	H_FIRST = 4,
	H_LAST = 8,
	H_BOTH = 16,
	H_SPLIT = 32,
};

enum again {			/* what came again on a resumed stream; a set */
	R_UNKNOWN = 1, R_NONE = 2, R_SOME = 4,
	R_MORE = 8,		/* the event of the cursor, too */
};

struct row {
	enum probe_id id;
	uint32_t a, b, c, p, x;	/* sets of answers; 0: whatever */
	unsigned heard, again;	/* 0: whatever */
	int response;		/* on A: 1 yes, -1 no */
	uint32_t outcome;
	enum probe_verdict verdict;
	const char *say, *note;
};

#define LEAPFROG "two clients, or one that reconnects, take the stream from each " \
	"other for ever: leapfrog"
#define LOSES "who comes in time hears nothing, and does not know"
#define WHO "who has the messages is seen with --emit-tool"
#define BROADCASTS "a message must go to one stream only (transports: multiple connections)"
#define COMES_BACK "clients come back for ever: empty-accept-loop"
#define LOCKED_OUT "a client that lost its stream cannot have it back: stale-slot"
#define NO_RESUME "what was sent meanwhile is lost; clients are not told"

#define OPENS .a = IS(OPEN), .b = IS(OPEN)
#define TAKES .a = IS(ENDED) | IS(EMPTY)

static const struct row rows[] = {
	{ PROBE_TWO_GETS, OPENS, .heard = H_UNKNOWN, .outcome = OUT_BESIDE,
	  .verdict = PROBE_UNKNOWN, .say = "both stay open", .note = WHO },
	{ PROBE_TWO_GETS, OPENS, .heard = H_FIRST, .outcome = OUT_FIRST,
	  .say = "both stay open, the first has the messages",
	  .note = "as long as the first is alive" },
	{ PROBE_TWO_GETS, OPENS, .heard = H_LAST, .outcome = OUT_LAST, .verdict = PROBE_FAULT,
	  .say = "both stay open, the second has the messages",
	  .note = "the first is silent from then on, and is not told: orphaned-channel" },
	{ PROBE_TWO_GETS, OPENS, .heard = H_BOTH, .outcome = OUT_BOTH, .verdict = PROBE_FAULT,
	  .say = "both stay open, and both have each message", .note = BROADCASTS },
	{ PROBE_TWO_GETS, OPENS, .heard = H_SPLIT, .outcome = OUT_SPLIT, .verdict = PROBE_FAULT,
	  .say = "both stay open and have the messages in turns",
	  .note = "each listener misses a part: orphaned-channel, split" },
	{ PROBE_TWO_GETS, OPENS, .heard = H_NONE, .outcome = OUT_MUTE, .verdict = PROBE_FAULT,
	  .say = "both stay open, and neither has the messages", .note = LOSES },
	{ PROBE_TWO_GETS, TAKES, .b = STREAM, .outcome = OUT_REPLACED | OUT_REPLAYED,
	  .verdict = PROBE_FAULT, .say = "the second is accepted and the first is ended",
	  .note = LEAPFROG },
	{ PROBE_TWO_GETS, .a = IS(OPEN), .b = IS(409), .outcome = OUT_CONFLICT,
	  .say = "the second is refused, 409",
	  .note = "right, if the place is free again when the first is gone: see resume" },
	{ PROBE_TWO_GETS, .a = STREAM, .b = IS(429), .outcome = OUT_LIMIT,
	  .say = "the second is refused, 429", .note = "" },
	{ PROBE_TWO_GETS, .a = STREAM, .b = BAD | IS(404) | IS(405) | IS(401), .outcome = OUT_BAD,
	  .verdict = PROBE_WARNING, .say = "the second is refused, and not by 409",
	  .note = "some clients take 400 and 404 for a lost session" },
	{ PROBE_TWO_GETS, .a = STREAM, .b = IS(5XX), .outcome = OUT_ERROR,
	  .verdict = PROBE_FAULT, .say = "the second is answered with an error of the server",
	  .note = "clients with a back-off try for ever" },
	{ PROBE_TWO_GETS, .a = STREAM, .b = IS(EMPTY), .outcome = OUT_EMPTY,
	  .verdict = PROBE_FAULT, .say = "the second is accepted and ends at once",
	  .note = COMES_BACK },
	{ PROBE_TWO_GETS, .a = IS(405), .outcome = OUT_NO_GET,
	  .say = "GET is answered 405: there is no standalone stream", .note = "" },
	{ PROBE_TWO_GETS, .a = IS(EMPTY), .outcome = OUT_EMPTY, .verdict = PROBE_FAULT,
	  .say = "a GET is accepted and ends at once", .note = COMES_BACK },
	{ PROBE_TWO_GETS, .a = IS(ENDED), .outcome = OUT_CLOSES, .verdict = PROBE_FAULT,
	  .say = "a GET is accepted and ended", .note = COMES_BACK },
	{ PROBE_TWO_GETS, .a = IS(PLAIN), .outcome = OUT_TYPE, .verdict = PROBE_FAULT,
	  .say = "a GET is answered 200, but with no event stream",
	  .note = "clients come back for ever: empty-accept-loop; say 405 instead" },
	{ PROBE_TWO_GETS, .a = IS(5XX), .outcome = OUT_ERROR, .verdict = PROBE_FAULT,
	  .say = "a GET is answered with an error of the server",
	  .note = "some clients try for ever: refused-get-loop; say 405 instead" },
	{ PROBE_TWO_GETS, .a = REFUSED, .outcome = OUT_BAD, .verdict = PROBE_WARNING,
	  .say = "a GET is refused, and not by 405",
	  .note = "405 says that there is no such stream; some clients loop on the rest" },
	{ PROBE_TWO_GETS, .a = NOTHING, .verdict = PROBE_FAULT,
	  .say = "a GET is not answered",
	  .note = "the head of the stream must go out before its first event: "
	  "buffered-stream" },

	{ PROBE_BROADCAST, .a = STREAM, .heard = H_UNKNOWN, .verdict = PROBE_UNKNOWN,
	  .say = "nothing was emitted", .note = WHO },
	{ PROBE_BROADCAST, .a = STREAM, .heard = H_BOTH, .outcome = OUT_BOTH,
	  .verdict = PROBE_FAULT, .say = "a message comes on more than one stream",
	  .note = BROADCASTS },
	{ PROBE_BROADCAST, .a = STREAM, .heard = H_SPLIT, .outcome = OUT_SPLIT,
	  .verdict = PROBE_FAULT, .say = "the messages come on the streams in turns",
	  .note = "each listener misses a part: orphaned-channel, split" },
	{ PROBE_BROADCAST, .a = STREAM, .heard = H_FIRST, .outcome = OUT_FIRST,
	  .say = "each message comes once, on the first stream", .note = "" },
	{ PROBE_BROADCAST, .a = STREAM, .heard = H_LAST, .outcome = OUT_LAST,
	  .say = "each message comes once, on the newest stream", .note = "" },
	{ PROBE_BROADCAST, .a = STREAM, .heard = H_NONE, .outcome = OUT_MUTE,
	  .verdict = PROBE_FAULT, .say = "no message comes at all", .note = LOSES },

	{ PROBE_RESUME_LIVE, OPENS, .heard = H_UNKNOWN, .outcome = OUT_BESIDE,
	  .verdict = PROBE_UNKNOWN, .say = "both stay open", .note = WHO },
	{ PROBE_RESUME_LIVE, OPENS, .heard = H_FIRST, .outcome = OUT_FIRST,
	  .say = "both stay open, the original has the messages", .note = "" },
	{ PROBE_RESUME_LIVE, OPENS, .heard = H_LAST, .outcome = OUT_LAST,
	  .verdict = PROBE_FAULT, .say = "both stay open, the resumed one has the messages",
	  .note = "the original is silent from then on: orphaned-channel" },
	{ PROBE_RESUME_LIVE, OPENS, .heard = H_BOTH, .outcome = OUT_BOTH,
	  .verdict = PROBE_FAULT, .say = "both stay open, and both have each message",
	  .note = BROADCASTS },
	{ PROBE_RESUME_LIVE, OPENS, .heard = H_SPLIT, .outcome = OUT_SPLIT,
	  .verdict = PROBE_FAULT, .say = "both stay open and have the messages in turns",
	  .note = "each listener misses a part: orphaned-channel, split" },
	{ PROBE_RESUME_LIVE, OPENS, .heard = H_NONE, .outcome = OUT_MUTE,
	  .verdict = PROBE_FAULT, .say = "both stay open, and neither has the messages",
	  .note = LOSES },
	{ PROBE_RESUME_LIVE, TAKES, .b = STREAM, .again = R_UNKNOWN,
	  .outcome = OUT_REPLACED | OUT_REPLAYED, .verdict = PROBE_FAULT,
	  .say = "the resume is accepted and the original is ended", .note = LEAPFROG },
	{ PROBE_RESUME_LIVE, TAKES, .b = STREAM, .again = R_SOME | R_MORE, .outcome = OUT_REPLAYED,
	  .verdict = PROBE_FAULT,
	  .say = "the resume is accepted with a replay, and the original is ended",
	  .note = LEAPFROG },
	{ PROBE_RESUME_LIVE, TAKES, .b = STREAM, .again = R_NONE, .outcome = OUT_REPLACED,
	  .verdict = PROBE_FAULT,
	  .say = "the resume is accepted without a replay, and the original is ended",
	  .note = LEAPFROG },
	{ PROBE_RESUME_LIVE, .a = STREAM, .b = IS(409), .outcome = OUT_CONFLICT,
	  .say = "the resume is refused, 409", .note = "" },
	{ PROBE_RESUME_LIVE, .a = STREAM, .b = IS(EMPTY), .outcome = OUT_EMPTY,
	  .verdict = PROBE_FAULT, .say = "the resume is accepted and ends at once",
	  .note = COMES_BACK },
	{ PROBE_RESUME_LIVE, .a = STREAM, .b = IS(ENDED), .outcome = OUT_CLOSES,
	  .verdict = PROBE_FAULT, .say = "the resume has its replay and is ended",
	  .note = COMES_BACK },
	{ PROBE_RESUME_LIVE, .a = STREAM, .b = IS(404), .outcome = OUT_ABSENT,
	  .verdict = PROBE_WARNING, .say = "the resume is refused, 404",
	  .note = "clients take that for a lost session" },
	{ PROBE_RESUME_LIVE, .a = STREAM, .b = REFUSED, .outcome = OUT_BAD,
	  .verdict = PROBE_WARNING, .say = "the resume is refused",
	  .note = "the server gives event ids and does not take them back" },
	{ PROBE_RESUME_LIVE, .a = STREAM, .b = IS(5XX), .outcome = OUT_ERROR,
	  .verdict = PROBE_FAULT, .say = "the resume is answered with an error of the server",
	  .note = "some clients try for ever" },

	{ PROBE_RESUME, .a = STREAM, .b = STREAM, .c = IS(409) | BAD | IS(404),
	  .outcome = OUT_LOCKED, .verdict = PROBE_FAULT,
	  .say = "the second resume is refused, though the first is gone",
	  .note = LOCKED_OUT },
	{ PROBE_RESUME, .a = STREAM, .b = IS(OPEN), .c = IS(OPEN), .again = R_UNKNOWN,
	  .outcome = OUT_RESUMED | OUT_OPEN | OUT_MUTE, .verdict = PROBE_UNKNOWN,
	  .say = "both resumes are accepted",
	  .note = "whether what was missed comes is seen with --emit-tool" },
	{ PROBE_RESUME, .a = STREAM, .b = IS(OPEN), .c = IS(OPEN), .again = R_SOME,
	  .outcome = OUT_RESUMED, .say = "both resumes are accepted, and what was missed comes",
	  .note = "" },
	{ PROBE_RESUME, .a = STREAM, .b = IS(OPEN), .c = IS(OPEN), .again = R_MORE,
	  .outcome = OUT_RESUMED, .verdict = PROBE_WARNING,
	  .say = "both resumes are accepted; the event of the cursor comes again",
	  .note = "replay begins after it (transports: resumability): duplicate-delivery" },
	{ PROBE_RESUME, .a = STREAM, .b = IS(OPEN), .c = IS(OPEN), .again = R_NONE,
	  .outcome = OUT_OPEN, .verdict = PROBE_WARNING,
	  .say = "both resumes are accepted, but what was missed does not come",
	  .note = NO_RESUME },
	{ PROBE_RESUME, .a = STREAM, .b = IS(EMPTY), .outcome = OUT_EMPTY,
	  .verdict = PROBE_FAULT, .say = "the resume is accepted and ends at once",
	  .note = COMES_BACK },
	{ PROBE_RESUME, .a = STREAM, .b = IS(ENDED), .outcome = OUT_CLOSES,
	  .verdict = PROBE_FAULT, .say = "the resume has its replay and is ended",
	  .note = COMES_BACK },
	{ PROBE_RESUME, .a = STREAM, .b = IS(409), .outcome = OUT_CONFLICT | OUT_LOCKED,
	  .verdict = PROBE_FAULT, .say = "the resume is refused, 409, though the original is gone",
	  .note = LOCKED_OUT },
	{ PROBE_RESUME, .a = STREAM, .b = IS(404), .outcome = OUT_ABSENT,
	  .verdict = PROBE_WARNING, .say = "the resume is refused, 404",
	  .note = "clients take that for a lost session" },
	{ PROBE_RESUME, .a = STREAM, .b = REFUSED, .outcome = OUT_BAD,
	  .verdict = PROBE_WARNING, .say = "the resume is refused",
	  .note = "the server gives event ids and does not take them back" },
	{ PROBE_RESUME, .a = STREAM, .b = IS(5XX), .outcome = OUT_ERROR,
	  .verdict = PROBE_FAULT, .say = "the resume is answered with an error of the server",
	  .note = "some clients try for ever" },

	{ PROBE_UNKNOWN_CURSOR, .a = IS(OPEN), .outcome = OUT_OPEN,
	  .say = "it is accepted as a new stream", .note = "" },
	{ PROBE_UNKNOWN_CURSOR, .a = IS(EMPTY) | IS(ENDED), .outcome = OUT_EMPTY,
	  .verdict = PROBE_FAULT, .say = "it is accepted and ends at once", .note = COMES_BACK },
	{ PROBE_UNKNOWN_CURSOR, .a = IS(404), .outcome = OUT_ABSENT, .verdict = PROBE_WARNING,
	  .say = "it is refused, 404", .note = "clients take that for a lost session" },
	{ PROBE_UNKNOWN_CURSOR, .a = IS(409), .outcome = OUT_CONFLICT, .verdict = PROBE_WARNING,
	  .say = "it is refused, 409, though no stream is open", .note = "" },
	{ PROBE_UNKNOWN_CURSOR, .a = BAD, .outcome = OUT_BAD, .say = "it is refused",
	  .note = "a client that keeps its cursor is refused for ever" },
	{ PROBE_UNKNOWN_CURSOR, .a = IS(5XX), .outcome = OUT_ERROR, .verdict = PROBE_WARNING,
	  .say = "it is answered with an error of the server",
	  .note = "some clients try for ever, with the same cursor" },

	{ PROBE_FINISHED_POST, .a = STREAM, .p = IS(PLAIN), .verdict = PROBE_UNKNOWN,
	  .say = "a POST is answered in JSON", .note = "there is nothing to resume" },
	{ PROBE_FINISHED_POST, TAKES, .b = STREAM, .outcome = OUT_REPLACED,
	  .verdict = PROBE_FAULT,
	  .say = "it is given the standalone stream, and the GET beside it is ended",
	  .note = "a client that resumes what is answered ends its own stream: leapfrog" },
	{ PROBE_FINISHED_POST, OPENS, .outcome = OUT_OPEN, .verdict = PROBE_OK,
	  .say = "it is accepted, and stays open beside the GET", .note = "" },
	{ PROBE_FINISHED_POST, .a = IS(OPEN), .b = IS(EMPTY), .outcome = OUT_EMPTY,
	  .verdict = PROBE_FAULT, .say = "it is accepted and ends at once", .note = COMES_BACK },
	{ PROBE_FINISHED_POST, .a = IS(OPEN), .b = IS(ENDED), .outcome = OUT_CLOSES,
	  .verdict = PROBE_FAULT, .say = "it is accepted, has a replay, and is ended",
	  .note = COMES_BACK },
	{ PROBE_FINISHED_POST, .a = IS(OPEN), .b = IS(409), .outcome = OUT_CONFLICT,
	  .say = "it is refused, 409", .note = "" },
	{ PROBE_FINISHED_POST, .a = IS(OPEN), .b = IS(404), .outcome = OUT_ABSENT,
	  .verdict = PROBE_WARNING, .say = "it is refused, 404",
	  .note = "clients take that for a lost session" },
	{ PROBE_FINISHED_POST, .a = IS(OPEN), .b = REFUSED, .outcome = OUT_BAD,
	  .say = "it is refused", .note = "" },
	{ PROBE_FINISHED_POST, .a = IS(OPEN), .b = IS(5XX), .outcome = OUT_ERROR,
	  .verdict = PROBE_WARNING, .say = "it is answered with an error of the server",
	  .note = "some clients try for ever, with the same cursor" },

	{ PROBE_POST_RESUME, .p = REFUSED | IS(5XX) | NOTHING, .verdict = PROBE_UNKNOWN,
	  .say = "the POST is refused", .note = "there is nothing to resume" },
	{ PROBE_POST_RESUME, .p = IS(PLAIN), .verdict = PROBE_UNKNOWN,
	  .say = "a POST is answered in JSON", .note = "there is nothing to resume" },
	{ PROBE_POST_RESUME, .a = STREAM, .response = 1, .outcome = OUT_RESUMED,
	  .say = "the response comes", .note = "" },
	{ PROBE_POST_RESUME, .a = IS(OPEN), .response = -1, .outcome = OUT_MUTE,
	  .verdict = PROBE_FAULT, .say = "it is accepted, but the response does not come",
	  .note = "the client waits for ever: lost-response" },
	{ PROBE_POST_RESUME, .a = IS(EMPTY) | IS(ENDED), .response = -1, .outcome = OUT_EMPTY,
	  .verdict = PROBE_FAULT, .say = "it is accepted and ends at once, without the response",
	  .note = COMES_BACK },
	{ PROBE_POST_RESUME, .a = IS(409), .outcome = OUT_CONFLICT, .verdict = PROBE_WARNING,
	  .say = "it is refused, 409", .note = "the response is lost: lost-response" },
	{ PROBE_POST_RESUME, .a = REFUSED, .outcome = OUT_BAD, .verdict = PROBE_WARNING,
	  .say = "it is refused", .note = "the response is lost: lost-response" },
	{ PROBE_POST_RESUME, .a = IS(5XX), .outcome = OUT_ERROR, .verdict = PROBE_WARNING,
	  .say = "it is answered with an error of the server",
	  .note = "the response is lost: lost-response" },

	{ PROBE_MAKE_BEFORE_BREAK, TAKES, .b = IS(OPEN), .outcome = OUT_REPLACED,
	  .verdict = PROBE_WARNING, .say = "the new one is accepted and the old one is ended",
	  .note = "the old one's client may come back: see two-gets" },
	{ PROBE_MAKE_BEFORE_BREAK, OPENS, .heard = H_LAST | H_BOTH | H_SPLIT,
	  .outcome = OUT_LAST, .say = "the new one has the messages from then on", .note = "" },
	{ PROBE_MAKE_BEFORE_BREAK, OPENS, .heard = H_NONE | H_FIRST, .outcome = OUT_MUTE,
	  .verdict = PROBE_FAULT, .say = "the new one stays open, and hears nothing",
	  .note = "messages are lost until somebody reconnects: orphaned-channel, headless" },
	{ PROBE_MAKE_BEFORE_BREAK, OPENS, .heard = H_UNKNOWN, .outcome = OUT_LAST | OUT_MUTE,
	  .verdict = PROBE_UNKNOWN, .say = "the new one stays open",
	  .note = "whether it hears anything is seen with --emit-tool" },
	{ PROBE_MAKE_BEFORE_BREAK, .a = STREAM, .b = IS(409) | BAD, .c = STREAM,
	  .outcome = OUT_CONFLICT, .say = "the new one is refused until the old one is closed",
	  .note = "" },
	{ PROBE_MAKE_BEFORE_BREAK, .a = STREAM, .b = IS(409) | BAD, .c = IS(409) | BAD,
	  .outcome = OUT_LOCKED | OUT_CONFLICT, .verdict = PROBE_FAULT,
	  .say = "a new one is refused, though the old one is closed", .note = LOCKED_OUT },
	{ PROBE_MAKE_BEFORE_BREAK, .a = STREAM, .b = IS(EMPTY) | IS(ENDED),
	  .outcome = OUT_EMPTY, .verdict = PROBE_FAULT,
	  .say = "the new one is accepted and ends at once", .note = COMES_BACK },
	{ PROBE_MAKE_BEFORE_BREAK, .a = STREAM, .b = IS(5XX) | REFUSED, .outcome = OUT_ERROR,
	  .verdict = PROBE_WARNING, .say = "the new one is refused", .note = "" },

	{ PROBE_PRIMARY_DIES, .a = IS(ENDED) | IS(EMPTY), .b = STREAM | IS(EMPTY),
	  .outcome = OUT_REPLACED, .verdict = PROBE_WARNING,
	  .say = "there is never more than one stream: each GET ends the one before",
	  .note = "see two-gets" },
	{ PROBE_PRIMARY_DIES, .a = STREAM, .b = REFUSED, .outcome = OUT_CONFLICT,
	  .say = "there is never more than one stream: further GETs are refused", .note = "" },
	{ PROBE_PRIMARY_DIES, OPENS, .heard = H_LAST | H_SPLIT | H_BOTH, .outcome = OUT_LAST,
	  .say = "another one takes its place", .note = "" },
	{ PROBE_PRIMARY_DIES, OPENS, .heard = H_NONE, .outcome = OUT_MUTE,
	  .verdict = PROBE_FAULT, .say = "the others stay open, and hear nothing",
	  .note = "messages are lost until somebody reconnects: orphaned-channel, headless" },
	{ PROBE_PRIMARY_DIES, OPENS, .heard = H_UNKNOWN, .outcome = OUT_LAST | OUT_MUTE,
	  .verdict = PROBE_UNKNOWN, .say = "the others stay open",
	  .note = "whether one takes its place is seen with --emit-tool" },

	{ PROBE_MANY_GETS, .a = IS(OPEN), .b = IS(OPEN), .c = IS(OPEN), .outcome = OUT_OPEN,
	  .verdict = PROBE_WARNING, .say = "all 34 stay open",
	  .note = "is there a bound at all? shadow-pile" },
	{ PROBE_MANY_GETS, .a = IS(OPEN), .b = IS(ENDED) | IS(EMPTY), .c = STREAM,
	  .outcome = OUT_EVICT, .verdict = PROBE_WARNING,
	  .say = "at a bound the oldest idle one is ended",
	  .note = "its client comes back and ends the next one" },
	{ PROBE_MANY_GETS, TAKES, .b = STREAM, .outcome = OUT_REPLACED,
	  .verdict = PROBE_FAULT, .say = "each ends the one before", .note = LEAPFROG },
	{ PROBE_MANY_GETS, .a = IS(OPEN), .b = IS(OPEN), .c = REFUSED | IS(5XX),
	  .outcome = OUT_LIMIT, .say = "at a bound further ones are refused", .note = "" },
	{ PROBE_MANY_GETS, .a = IS(OPEN), .b = REFUSED, .outcome = OUT_CONFLICT,
	  .say = "the second is refused", .note = "" },

	{ PROBE_DELETE, .a = IS(OPEN) | IS(ENDED) | IS(EMPTY), .x = IS(405),
	  .outcome = OUT_NO_GET, .say = "DELETE is not allowed, 405",
	  .note = "sessions end when the server wants it" },
	{ PROBE_DELETE, .a = IS(OPEN), .x = GIVEN, .outcome = OUT_ALIVE,
	  .verdict = PROBE_FAULT, .say = "the GET stays open",
	  .note = "nothing will ever come on it: orphaned-channel, after-delete" },
	{ PROBE_DELETE, .a = IS(ENDED) | IS(EMPTY), .x = GIVEN, .p = IS(404),
	  .outcome = OUT_GONE, .say = "the GET ends, and the session is unknown, 404",
	  .note = "" },
	{ PROBE_DELETE, .a = IS(ENDED) | IS(EMPTY), .x = GIVEN, .p = BAD | IS(401),
	  .outcome = OUT_GONE, .verdict = PROBE_WARNING,
	  .say = "the GET ends, but the session is answered with another status than 404",
	  .note = "only 404 makes clients begin a new session: dead-session" },
	{ PROBE_DELETE, .a = IS(ENDED) | IS(EMPTY), .x = GIVEN, .p = GIVEN,
	  .outcome = OUT_ALIVE, .verdict = PROBE_FAULT,
	  .say = "the GET ends, but the session is still served", .note = "" },
	{ PROBE_DELETE, .x = REFUSED | IS(5XX), .outcome = OUT_ERROR, .verdict = PROBE_WARNING,
	  .say = "DELETE is refused, and not by 405", .note = "" },

	{ PROBE_DEAD_SESSION, .p = IS(404), .outcome = OUT_ABSENT,
	  .say = "it is unknown, 404", .note = "clients begin a new session" },
	{ PROBE_DEAD_SESSION, .p = IS(401), .outcome = OUT_AUTH, .verdict = PROBE_WARNING,
	  .say = "it is answered 401 or 403",
	  .note = "clients ask for authorization again, and not for a new session: "
	  "dead-session" },
	{ PROBE_DEAD_SESSION, .p = BAD, .outcome = OUT_BAD, .verdict = PROBE_WARNING,
	  .say = "it is answered with another status than 404",
	  .note = "only 404 makes all clients begin a new session: dead-session" },
	{ PROBE_DEAD_SESSION, .p = GIVEN, .outcome = OUT_ALIVE, .verdict = PROBE_WARNING,
	  .say = "it is served", .note = "fine for a server without sessions only" },
	{ PROBE_DEAD_SESSION, .p = IS(5XX), .outcome = OUT_ERROR, .verdict = PROBE_FAULT,
	  .say = "it is answered with an error of the server",
	  .note = "clients do not begin a new session: dead-session" },

	{ PROBE_MODERN_GET, .a = IS(405), .outcome = OUT_NO_GET, .say = "it is answered 405",
	  .note = "" },
	{ PROBE_MODERN_GET, .a = STREAM | IS(EMPTY) | IS(PLAIN), .outcome = OUT_OPEN,
	  .verdict = PROBE_WARNING, .say = "it is served",
	  .note = "this revision has no GET; 405 says so" },
	{ PROBE_MODERN_GET, .a = REFUSED | IS(5XX), .outcome = OUT_BAD,
	  .verdict = PROBE_WARNING, .say = "it is refused, and not by 405", .note = "" },

	{ PROBE_TWO_LISTENS, OPENS, .heard = H_BOTH, .outcome = OUT_BOTH,
	  .say = "both stay open, and both have each message", .note = "" },
	{ PROBE_TWO_LISTENS, OPENS, .heard = H_UNKNOWN, .outcome = OUT_BOTH | OUT_MUTE,
	  .verdict = PROBE_UNKNOWN, .say = "both stay open", .note = WHO },
	{ PROBE_TWO_LISTENS, OPENS, .heard = H_FIRST | H_LAST | H_SPLIT | H_NONE,
	  .outcome = OUT_MUTE, .verdict = PROBE_FAULT,
	  .say = "both stay open, but not both have each message",
	  .note = "each subscription is to have what it asked for" },
	{ PROBE_TWO_LISTENS, TAKES, .b = STREAM, .outcome = OUT_REPLACED,
	  .verdict = PROBE_FAULT, .say = "the second is accepted and the first is ended",
	  .note = "several subscriptions at once are allowed" },
	{ PROBE_TWO_LISTENS, .a = STREAM, .b = REFUSED | IS(5XX) | IS(PLAIN),
	  .outcome = OUT_BAD, .verdict = PROBE_WARNING, .say = "the second is refused",
	  .note = "several subscriptions at once are allowed" },
	{ PROBE_TWO_LISTENS, .a = REFUSED | IS(5XX) | IS(PLAIN) | IS(404), .outcome = OUT_NO_GET,
	  .verdict = PROBE_UNKNOWN, .say = "subscriptions/listen is refused",
	  .note = "the server has no subscriptions" },

	{ PROBE_LISTEN_CUT, OPENS, .heard = H_LAST, .outcome = OUT_FIRST,
	  .say = "the other one goes on", .note = "" },
	{ PROBE_LISTEN_CUT, OPENS, .heard = H_UNKNOWN, .outcome = OUT_FIRST,
	  .verdict = PROBE_UNKNOWN, .say = "the other one stays open", .note = WHO },
	{ PROBE_LISTEN_CUT, OPENS, .heard = H_NONE, .outcome = OUT_MUTE,
	  .verdict = PROBE_FAULT, .say = "the other one stays open, and hears nothing",
	  .note = "" },
	{ PROBE_LISTEN_CUT, .a = STREAM, .b = IS(ENDED) | IS(EMPTY), .outcome = OUT_GONE,
	  .verdict = PROBE_FAULT, .say = "the other one is ended, too", .note = "" },

	{ PROBE_HEADER_MISMATCH, .p = IS(400), .outcome = OUT_BAD, .say = "it is refused, 400",
	  .note = "" },
	{ PROBE_HEADER_MISMATCH, .p = GIVEN, .outcome = OUT_ALIVE, .verdict = PROBE_FAULT,
	  .say = "it is served",
	  .note = "a gateway that routes by the header and the server see two requests" },
	{ PROBE_HEADER_MISMATCH, .p = REFUSED | IS(5XX), .outcome = OUT_ERROR,
	  .verdict = PROBE_WARNING, .say = "it is refused, and not by 400", .note = "" },
};

static const char *const whys[] = {
	[PROBE_JUDGED] = "",
	[PROBE_NOT_CHOSEN] = "not chosen",
	[PROBE_NOT_RUN] = "not run",
	[PROBE_NO_SESSION] = "no session could be begun",
	[PROBE_STATELESS] = "the server has no sessions",
	[PROBE_NO_ID] = "no event id was seen; with --emit-tool there may be one",
	[PROBE_NO_STREAM] = "there was no stream to resume",
	[PROBE_NOT_MODERN] = "the server has no revision 2026-07-28",
	[PROBE_NOT_LEGACY] = "the server has no revision before 2026-07-28",
	[PROBE_NOT_ASKED_FOR] = "takes long: --idle SECONDS asks for it",
	[PROBE_OWN_STREAM] = "the tool's messages come on the stream of its own POST",
	[PROBE_TOOL_FAILED] = "the tool that should emit was answered with an error, or not at all",
	[PROBE_NO_MESSAGES] = WHO,
};

/* What of the messages has come when the stream is read on; all others were
 * served. */
static struct probe_result
judge_kept(const struct probe_seen *seen)
{
	const struct probe_stream *s = &seen->s[PROBE_A];
	const struct probe_fill *f = &seen->fill;

	if (s->answer == PROBE_ENDED || s->answer == PROBE_EMPTY)
		return (struct probe_result){ PROBE_OK, OUT_GONE,
		    "others are served, and its stream is ended", "" };
	if (f->bytes < f->need)
		return (struct probe_result){ PROBE_UNKNOWN, 0,
		    "others are served, but so little came that it may all have waited in "
		    "the kernel", "a tool that emits more at once shows more; some servers "
		    "join messages" };
	/* A tenth for what a call's messages differ by. */
	if (f->bytes < f->answered * f->each / 10 * 9)
		return (struct probe_result){ PROBE_WARNING, OUT_PARTLY,
		    "others are served, and a part of its messages never comes",
		    "its client does not know" };
	return (struct probe_result){ PROBE_OK, OUT_KEPT,
	    "others are served, and what it has not read is kept for it", "" };
}

static struct probe_result
judge_slow(const struct probe_seen *seen)
{
	const struct probe_fill *f = &seen->fill;

	if (seen->s[PROBE_A].status != 200 || seen->s[PROBE_A].answer == PROBE_PLAIN)
		return (struct probe_result){ PROBE_UNKNOWN, 0, "there is no GET stream",
		    "see two-gets" };
	if (seen->tool != PROBE_JUDGED)
		return (struct probe_result){ PROBE_UNKNOWN, 0, "nothing was emitted",
		    whys[seen->tool] };
	if (f->calls == 0)
		return (struct probe_result){ PROBE_UNKNOWN, 0,
		    "the tool's messages do not come on it", "" };
	if (seen->s[PROBE_X].late || seen->s[PROBE_C].late)
		return (struct probe_result){ PROBE_FAULT, OUT_WEDGED,
		    "no session is served as long as it is not read",
		    "one client that stalls stops them all: session-wedge" };
	if (seen->s[PROBE_P].late)
		return (struct probe_result){ PROBE_FAULT, OUT_HELD,
		    "its session is not served as long as it is not read, others are",
		    "a slow stream stops the requests beside it: session-wedge" };
	if (f->stuck > 0)
		return (struct probe_result){ PROBE_WARNING, OUT_WAITS,
		    "who emits waits until it is read, all others are served",
		    "a client that stalls stops the tools that tell it something" };
	return judge_kept(seen);
}

/* Emissions that all streams could hear. */
static uint32_t
common(const struct probe_seen *seen)
{
	unsigned from = 0;

	for (unsigned i = PROBE_A; i <= PROBE_C; i++)
		if (seen->s[i].answer == PROBE_OPEN && seen->s[i].from > from)
			from = seen->s[i].from;
	if (from >= seen->emitted)
		return 0;
	return (uint32_t)(((UINT64_C(1) << seen->emitted) - 1) & ~((UINT64_C(1) << from) - 1));
}

static unsigned
who_heard(const struct probe_seen *seen)
{
	uint32_t all = common(seen), heard[3];
	unsigned who = 0;
	bool both = false;

	if (all == 0 || seen->tool != PROBE_JUDGED)
		return H_UNKNOWN;
	for (unsigned i = PROBE_A; i <= PROBE_C; i++) {
		heard[i] = seen->s[i].heard & all;
		who += heard[i] != 0;
		for (unsigned j = PROBE_A; j < i; j++)
			both |= (heard[i] & heard[j]) != 0;
	}
	if (both)
		return H_BOTH;
	if (who > 1)
		return H_SPLIT;
	if (who == 0)
		return H_NONE;
	return heard[PROBE_A] ? H_FIRST : H_LAST;
}

static unsigned
what_again(const struct probe_seen *seen)
{
	if (seen->emitted == 0 || seen->tool != PROBE_JUDGED)
		return R_UNKNOWN;
	if (seen->s[PROBE_B].inclusive)
		return R_MORE;
	return seen->s[PROBE_B].replayed > 0 ? R_SOME : R_NONE;
}

static bool
is(uint32_t set, const struct probe_stream *s)
{
	return set == 0 || set >> s->answer & 1;
}

static bool
fits(const struct row *r, const struct probe_seen *seen, unsigned heard, unsigned again)
{
	return is(r->a, &seen->s[PROBE_A]) && is(r->b, &seen->s[PROBE_B]) &&
	    is(r->c, &seen->s[PROBE_C]) && is(r->p, &seen->s[PROBE_P]) &&
	    is(r->x, &seen->s[PROBE_X]) && (r->heard == 0 || r->heard & heard) &&
	    (r->again == 0 || r->again & again) &&
	    (r->response == 0 || (r->response > 0) == seen->s[PROBE_A].response);
}

static struct probe_result
judge_idle(const struct probe_seen *seen)
{
	const struct probe_stream *s = &seen->s[PROBE_A];
	struct probe_result r = { PROBE_OK, OUT_OPEN, "it stays open, with comments", "" };

	if (s->answer == PROBE_ENDED || s->answer == PROBE_EMPTY)
		r = (struct probe_result){ PROBE_FAULT, OUT_GONE, "it is ended",
		    "a client hears nothing until it is back: idle-cut" };
	else if (s->comments == 0 && s->answer == PROBE_OPEN)
		r = (struct probe_result){ PROBE_WARNING, OUT_MUTE,
		    "it stays open, without a comment",
		    "proxies cut such streams, most after 60 s: idle-cut" };
	else if (s->answer != PROBE_OPEN)
		r = (struct probe_result){ PROBE_UNKNOWN, 0, "there is no GET stream",
		    "see two-gets" };
	return r;
}

struct probe_result
probe_judge(enum probe_id id, const struct probe_seen *seen)
{
	unsigned heard = who_heard(seen), again = what_again(seen);
	struct probe_result none = { PROBE_UNKNOWN, 0, "nothing", whys[seen->why] };
	enum probe_answer a = seen->s[PROBE_A].answer;

	if (seen->why == PROBE_NO_ID && seen->emitted > 0 && seen->tool == PROBE_JUDGED &&
	    seen->s[PROBE_A].heard != 0) {
		none.outcome = OUT_NO_ID;
		none.say = "messages come without event ids";
		none.note = "there is nothing to resume from";
	}
	if (id == PROBE_SLOW_READER && seen->why == PROBE_NO_MESSAGES)
		none.note = "it is made to emit with --emit-tool";
	if (seen->why != PROBE_JUDGED)
		return none;
	if (id == PROBE_HANDSHAKE)
		return (struct probe_result){ PROBE_OK, 0, "", "" };
	if (id == PROBE_IDLE)
		return judge_idle(seen);
	if (id == PROBE_SLOW_READER)
		return judge_slow(seen);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct probe_result r = { rows[i].verdict, rows[i].outcome, rows[i].say,
		    rows[i].note };

		if (rows[i].id != id || !fits(&rows[i], seen, heard, again))
			continue;
		if (r.verdict == PROBE_UNKNOWN && rows[i].heard == H_UNKNOWN)
			r.note = whys[seen->tool];
		return r;
	}
	if (a != PROBE_OPEN && a != PROBE_ENDED && a != PROBE_NOT_ASKED) {
		none.say = "there is no GET stream";
	} else {
		none.say = "something else";
		none.note = "no rule for it; -T json has what was seen";
	}
	return none;
}

const char *
probe_answer_name(enum probe_answer a)
{
	static const char *const names[] = {
		[PROBE_NOT_ASKED] = "not asked", [PROBE_OPEN] = "open",
		[PROBE_ENDED] = "ended", [PROBE_EMPTY] = "empty", [PROBE_PLAIN] = "no stream",
		[PROBE_400] = "400", [PROBE_401] = "401 or 403", [PROBE_404] = "404",
		[PROBE_405] = "405", [PROBE_409] = "409", [PROBE_429] = "429",
		[PROBE_4XX] = "4xx", [PROBE_5XX] = "5xx", [PROBE_OTHER] = "other",
		[PROBE_SILENT] = "no answer", [PROBE_CUT] = "cut",
	};

	return names[a];
}
