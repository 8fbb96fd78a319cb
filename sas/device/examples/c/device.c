// A device that takes a reading now and then and stores it with Furrow.
//
//	cc -std=c11 -O2 -o device device.c -lcurl -lssl -lcrypto
//
// It reads device.conf, and keeps what is not stored yet in readings.txt, so that a restart loses
// nothing. Only read_sensors and the limits are yours to change.

#define _POSIX_C_SOURCE 200809L
#include <curl/curl.h>
#include <inttypes.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

enum {
	LIMIT = 1000,  // readings kept while nothing can be sent; above it the oldest are dropped
	LINE = 320,    // bytes of a row key and its values
	TIMEOUT = 10,  // seconds to wait for a response
	LONGEST = 300, // seconds between two attempts, at most
};
#define SECOND INT64_C(10000000) // in ticks of 100 ns
#define UNIX INT64_C(62135596800) // seconds from 0001-01-01 to 1970-01-01

static struct { char endpoint[256], device[129], enrollment[129], key[129], ca[256], every[12]; } conf;
static struct {
	char url[512], sas[1024], partition[129], earliest[64], latest[64], expires[40];
	int batch, send_every;
	int64_t renew, end; // by uptime
	bool valid;
} token;

static char lines[LIMIT][LINE]; // "ROWKEY JSON", oldest first
static int count;
static uint32_t boot;
static int64_t zero; // the server's time when the uptime was 0; 0: unknown
static int fails, refusals, singly;
static bool urgent; // a reading was, and the endpoint has not heard of it
static long wait_for; // Retry-After of the last response
static char reply[16 << 10], request[100 * (LINE + 1024)];

// read_sensors writes the values of one reading. Put your sensors here. It returns whether the workers
// have to look at this reading in their next run, not only when they expect one.
static bool read_sensors(char *json, size_t size) {
	double temperature = 20 + rand() % 400 / 100.0;
	snprintf(json, size, "{\"temperature\":%.2f}", temperature);
	return temperature > 60;
}

// uptime is in ticks. The clock that it uses cannot be set.
static int64_t uptime(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * SECOND + t.tv_nsec / 100;
}

// unix_time uses the device's own clock only until the server's time is known.
static int64_t unix_time(void) { return zero ? (zero + uptime()) / SECOND - UNIX : (int64_t)time(NULL); }

// ticks_of reads a time such as 2026-11-21T15:00:00.123456Z.
static int64_t ticks_of(const char *text) {
	int y, m, d, h, min, s, end = 0;
	if (sscanf(text, "%d-%d-%dT%d:%d:%d%n", &y, &m, &d, &h, &min, &s, &end) < 6) return 0;
	if (m < 3) y--, m += 12;
	int64_t days = 365 * (int64_t)y + y / 4 - y / 100 + y / 400 + (153 * m - 457) / 5 + d - 307;
	int64_t ticks = (days * 86400 + h * 3600 + min * 60 + s) * SECOND, unit = SECOND;
	if (text[end] == '.')
		for (const char *c = text + end + 1; *c >= '0' && *c <= '9' && unit > 1; c++) ticks += (*c - '0') * (unit /= 10);
	return ticks;
}

// give_up ends the program: its supervisor starts it again, and what is in the file is safe.
static void give_up(void) {
	perror("readings.txt");
	exit(1);
}

// save replaces the file: a power cut leaves the old one or the new one.
static void save(void) {
	FILE *f = fopen("readings.new", "w");
	for (int i = 0; f && i < count; i++) fprintf(f, "%s\n", lines[i]);
	if (!f || fflush(f) || fsync(fileno(f)) || fclose(f) || rename("readings.new", "readings.txt")) give_up();
}

static void remove_first(int n, const char *why, const char *because) {
	for (int i = 0; i < n; i++) printf("%s %.*s %s\n", why, (int)strcspn(lines[i], " "), lines[i], because);
	memmove(lines, lines[n], sizeof lines[0] * (size_t)(count -= n));
	save();
}

// load drops readings whose time nobody knows: their boot ended before it had learned the time.
static void load(void) {
	FILE *f = fopen("readings.txt", "r");
	while (f && count < LIMIT && fgets(lines[count], LINE, f)) {
		char *end = strchr(lines[count], '\n');
		if (!end) break; // it was cut off while it was written
		*end = 0;
		if (lines[count][0] == '+') printf("dropped %.*s its time is unknown\n", (int)strcspn(lines[count], " "), lines[count]);
		else count++;
	}
	if (f) fclose(f);
	save();
}

// take_reading adds a reading. Its row key is its identity: storage refuses a second row with the
// same key, so that sending it again is harmless. It must never change once it may have been sent.
// Before the time is known, the line starts with + and the uptime.
static void take_reading(void) {
	static int number;
	char values[LINE - 64];
	if (count == LIMIT) remove_first(LIMIT / 10, "dropped", "the buffer is full"); // several, to spare the flash
	if (read_sensors(values, sizeof values)) urgent = true;
	number++;
	snprintf(lines[count], LINE, zero ? "%019" PRId64 "-%08x.%d %s" : "+%" PRId64 "-%08x.%d %s", zero + uptime(), boot,
		number, values);
	FILE *f = fopen("readings.txt", "a");
	if (!f || fprintf(f, "%s\n", lines[count]) < 0 || fflush(f) || fsync(fileno(f)) || fclose(f)) give_up();
	count++;
	printf("kept %08x.%d\n", boot, number);
}

// learn_time gives the readings of this boot their keys. They are on disk before any is sent.
static void learn_time(const char *server, int64_t at) {
	char old[LINE];
	zero = ticks_of(server) - at;
	for (int i = 0; i < count; i++) {
		if (lines[i][0] != '+') continue;
		memcpy(old, lines[i], LINE);
		char *rest;
		int64_t up = strtoll(old + 1, &rest, 10);
		snprintf(lines[i], LINE, "%019" PRId64 "%s", zero + up, rest);
	}
	save();
}

static size_t on_body(char *data, size_t size, size_t n, void *unused) {
	(void)unused;
	size_t used = strlen(reply), room = sizeof reply - 1 - used;
	memcpy(reply + used, data, n < room ? n : room); // what matters is at the start
	reply[used + (n < room ? n : room)] = 0;
	return size * n;
}

static size_t on_header(char *data, size_t size, size_t n, void *unused) {
	(void)unused;
	if (n > 12 && !strncasecmp(data, "Retry-After:", 12)) wait_for = strtol(data + 12, NULL, 10);
	return size * n;
}

// on_tls checks certificates by the server's time. Until it is known, their dates are not checked,
// because a clock that starts in 1970 would refuse all of them. Issuer and name always are.
static CURLcode on_tls(CURL *curl, void *context, void *unused) {
	(void)curl, (void)unused;
	X509_VERIFY_PARAM *p = SSL_CTX_get0_param(context);
	if (zero) X509_VERIFY_PARAM_set_time(p, (time_t)unix_time());
	else X509_VERIFY_PARAM_set_flags(p, X509_V_FLAG_NO_CHECK_TIME);
	return CURLE_OK;
}

// post returns the status of the response, or 0. The response is in reply.
static long post(const char *url, const char *body, int n, const char *headers[]) {
	static CURL *curl; // one, so that connections are used again
	struct curl_slist *list = NULL;
	long status = 0;
	if (!curl) curl = curl_easy_init();
	for (int i = 0; i < n; i++) list = curl_slist_append(list, headers[i]);
	reply[0] = 0, wait_for = 0;
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(curl, CURLOPT_SSL_CTX_FUNCTION, on_tls);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)TIMEOUT);
	if (conf.ca[0]) curl_easy_setopt(curl, CURLOPT_CAINFO, conf.ca);
	CURLcode code = curl_easy_perform(curl);
	if (code == CURLE_OK) curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	else printf("failed %s\n", curl_easy_strerror(code)); // never the URL: it has the token
	curl_slist_free_all(list);
	if (wait_for < 0 || wait_for > 3600) wait_for = 3600;
	return status;
}

// field copies a member of reply, a flat JSON object.
static bool field(const char *name, char *out, size_t size) {
	char quoted[40];
	snprintf(quoted, sizeof quoted, "\"%s\":", name);
	const char *c = strstr(reply, quoted);
	*out = 0;
	if (!c) return false;
	for (c += strlen(quoted); *c == ' ' || *c == '"';) c++;
	for (; *c && !strchr("\",}", *c) && size > 1; size--) {
		bool ampersand = !strncmp(c, "\\u0026", 6);
		*out++ = ampersand ? '&' : *c;
		c += ampersand ? 6 : 1;
	}
	*out = 0;
	return size > 1;
}

// prove writes the Authorization header. The key itself never leaves the device.
static void prove(char *header, size_t size) {
	unsigned char key[128], sum[32], base64[64];
	unsigned length = sizeof sum;
	char resource[300], text[400];
	int n = EVP_DecodeBlock(key, (unsigned char *)conf.key, (int)strlen(conf.key));
	for (size_t i = strlen(conf.key); i > 0 && conf.key[i - 1] == '='; i--) n--;
	snprintf(resource, sizeof resource, "%s/registrations/%s", conf.enrollment, conf.device);
	char *sr = curl_easy_escape(NULL, resource, 0);
	int64_t expiry = (unix_time() > 0 ? unix_time() : 0) + 600;
	snprintf(text, sizeof text, "%s\n%" PRId64, sr, expiry);
	HMAC(EVP_sha256(), key, n, (unsigned char *)text, strlen(text), sum, &length);
	EVP_EncodeBlock(base64, sum, (int)length);
	char *sig = curl_easy_escape(NULL, (char *)base64, 0);
	snprintf(header, size, "Authorization: SharedAccessSignature sr=%s&sig=%s&se=%" PRId64, sr, sig, expiry);
	curl_free(sr), curl_free(sig);
}

static bool get_token(const char *body) {
	char url[512], proof[800], code[40], text[40];
	snprintf(url, sizeof url, "%s/v1/devices/%s/token", conf.endpoint, conf.device);
	for (int attempt = 0; attempt < 2; attempt++) {
		int64_t sent = uptime();
		prove(proof, sizeof proof);
		long status = post(url, body, 1, (const char *[]){proof});
		field("code", code, sizeof code);
		bool wrong_time = !strcmp(code, "proof-expired") || !strcmp(code, "proof-too-long");
		if ((status == 200 || wrong_time) && field("serverTime", text, sizeof text)) learn_time(text, (sent + uptime()) / 2);
		if (wrong_time) continue; // the next proof uses the server's time
		if (status != 200 || !field("renewAfter", text, sizeof text)) // or it is a proxy's
			return printf("failed no token: %ld %s\n", status, code), false;
		token.valid = field("url", token.url, sizeof token.url) && field("sas", token.sas, sizeof token.sas) &&
			field("partitionKey", token.partition, sizeof token.partition) &&
			field("earliestRowKey", token.earliest, sizeof token.earliest) &&
			field("latestRowKey", token.latest, sizeof token.latest) &&
			field("expires", token.expires, sizeof token.expires) && field("renewAfter", text, sizeof text);
		token.end = ticks_of(token.expires) - zero;
		// A random time, so that a fleet that booted together does not renew together.
		token.renew = ticks_of(text) - zero;
		token.renew += (token.end - token.renew) / 2048 * (rand() % 1024);
		token.batch = field("batch", text, sizeof text) ? atoi(text) : 1;
		token.send_every = field("sendEvery", text, sizeof text) ? atoi(text) : 60;
		if (token.valid) printf("token until %s\n", token.expires);
		return token.valid;
	}
	return printf("failed no token: %s\n", code), false;
}

static int row(char *out, size_t size, const char *line) {
	int key = (int)strcspn(line, " ");
	return snprintf(out, size, "{\"PartitionKey\":\"%s\",\"RowKey\":\"%.*s\",%s", token.partition, key, line, line + key + 2);
}

// insert adds the first n rows, several of them in one transaction, and returns the status.
static long insert(int n) {
	char url[2048];
	if (n == 1) {
		row(request, sizeof request, lines[0]);
		snprintf(url, sizeof url, "%s?%s", token.url, token.sas);
		return post(url, request, 3, (const char *[]){"Content-Type: application/json", "Prefer: return-no-content",
			"Accept: application/json;odata=minimalmetadata"});
	}
	int at = snprintf(request, sizeof request, "--batch_a\r\nContent-Type: multipart/mixed; boundary=changeset_a\r\n\r\n");
	for (int i = 0; i < n; i++) {
		at += snprintf(request + at, sizeof request - (size_t)at,
			"--changeset_a\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
			"POST %s HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json;odata=minimalmetadata\r\n"
			"Prefer: return-no-content\r\nDataServiceVersion: 3.0\r\n\r\n", token.url);
		at += row(request + at, sizeof request - (size_t)at, lines[i]);
		at += snprintf(request + at, sizeof request - (size_t)at, "\r\n");
	}
	snprintf(request + at, sizeof request - (size_t)at, "--changeset_a--\r\n--batch_a--\r\n");
	snprintf(url, sizeof url, "%.*s/$batch?%s", (int)(strrchr(token.url, '/') - token.url), token.url, token.sas);
	long status = post(url, request, 2,
		(const char *[]){"Content-Type: multipart/mixed; boundary=batch_a", "DataServiceVersion: 3.0"});
	const char *inner = strstr(reply, "HTTP/1.1 "); // the real status is that of the response inside
	return status != 202 ? status : inner ? strtol(inner + 9, NULL, 10) : 0;
}

// deliver sends the oldest readings, and returns whether that went well.
static bool deliver(void) {
	int n = count < token.batch ? count : token.batch, fit = 0;
	if (n > 100) n = 100; // a transaction has no more
	if (singly > 0) n = 1;
	while (fit < n && strncmp(lines[fit], token.earliest, 19) >= 0 && strncmp(lines[fit], token.latest, 19) < 0) fit++;
	if (fit == 0) return remove_first(1, "dropped", "the token does not admit its time"), true;
	n = fit;
	long status = insert(n);
	bool own = strstr(reply, "\"odata.error\""); // else a proxy refuses, and knows no row
	if (status == 201 || status == 204 || (status == 409 && n == 1 && own)) { // 409: an earlier attempt stored it
		remove_first(n, "stored", "");
		fails = refusals = 0;
		if (singly > 0) singly--;
		return true;
	}
	if (n > 1 && (status == 400 || status == 409 || status == 413)) return singly = n, true; // one row is why: find it
	if ((status == 400 && own) || status == 413) return remove_first(1, "dropped", "storage refuses it"), true;
	if (status == 401 || status == 403 || status == 404) { // this device or another of its cohort was revoked
		token.valid = false;
		if (refusals++ == 0) return true; // get a new one at once
	}
	return printf("failed not stored: %ld\n", status), false;
}

// step does what is due, and returns the pause until the next attempt.
static int64_t step(void) {
	bool good = true;
	if (!token.valid || uptime() > token.renew) {
		good = get_token("");
		if (!good && token.valid && uptime() < token.end) { // the old one is good for a while
			token.renew = uptime() + 60 * SECOND;
			good = true;
		}
	}
	if (good && count > 0) good = deliver();
	if (good && count == 0 && urgent && (good = get_token("{\"ring\":true}"))) { // what is urgent is stored
		urgent = false;
		fails = 0;
	}
	if (good) return count > 0 || !token.valid ? 0 : token.send_every * SECOND;
	// A random part keeps devices that failed together from coming back together. A device that is
	// revoked asks less and less, and sends what it kept once it is restored.
	int64_t longest = 1 << (fails < 9 ? fails++ : 9);
	if (longest > LONGEST) longest = LONGEST;
	return wait_for * SECOND + longest * SECOND / 1024 * (512 + rand() % 512);
}

static void configure(void) {
	char line[512], name[32], value[256];
	FILE *f = fopen("device.conf", "r");
	while (f && fgets(line, sizeof line, f)) {
		if (sscanf(line, "%31[^=]=%255[^\r\n]", name, value) < 2) continue;
		if (!strcmp(name, "endpoint")) snprintf(conf.endpoint, sizeof conf.endpoint, "%s", value);
		if (!strcmp(name, "device")) snprintf(conf.device, sizeof conf.device, "%.128s", value);
		if (!strcmp(name, "enrollment")) snprintf(conf.enrollment, sizeof conf.enrollment, "%.128s", value);
		if (!strcmp(name, "key")) snprintf(conf.key, sizeof conf.key, "%.128s", value);
		if (!strcmp(name, "ca")) snprintf(conf.ca, sizeof conf.ca, "%s", value);
		if (!strcmp(name, "every")) snprintf(conf.every, sizeof conf.every, "%.11s", value);
	}
	if (!f) perror("device.conf"), exit(1);
	fclose(f);
}

int main(void) {
	setvbuf(stdout, NULL, _IOLBF, 0);
	configure();
	curl_global_init(CURL_GLOBAL_DEFAULT);
	RAND_bytes((unsigned char *)&boot, sizeof boot);
	srand(boot);
	load();
	int64_t every = (conf.every[0] ? atoi(conf.every) : 60) * SECOND, reading = 0, attempt = 0;
	for (;;) {
		if (uptime() >= reading) {
			take_reading();
			reading = (reading ? reading : uptime()) + every;
			if (reading < uptime()) reading = uptime(); // a request took longer
			if (urgent && fails == 0) attempt = 0; // after a failure it waits all the same
		}
		if (uptime() >= attempt) attempt = uptime() + step();
		int64_t pause = (reading < attempt ? reading : attempt) - uptime();
		if (pause > 0) nanosleep(&(struct timespec){pause / SECOND, pause % SECOND * 100}, NULL);
	}
}
