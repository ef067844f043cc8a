/* One HTTP call: its options, libcurl's reports on it, and the classification of its end.
 * Invariants: vibeq has the key only in the text of the header list, which is wiped; nothing is
 * received beyond the caps; a request is sent at most once. If a reused connection breaks before
 * the answer, libcurl tries to send the request again; that is refused, because the first send may
 * have been carried out and billed. libcurl's own low-speed check is not used, because it would end
 * a call whose model thinks for a minute before its first byte. */
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/net/http_private.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEEP_BODY_BYTES   65536 /* a larger response buffer is freed after its call */
#define LINE_BYTES_MAX    (VQ_HTTP_HEADER_BYTES_MAX + VQ_SECRET_BYTES_MAX)
#define IO_BUFFER_BYTES   16384L
#define IDLE_CONNECTION_S 110L /* common servers and balancers close theirs after 120 s or less */

/* ---- the kept headers of a response ---- */

static bool is_kept(struct vq_span name)
{
    static const char *const exact[] = {"retry-after",
                                        "retry-after-ms",
                                        "content-type",
                                        "date",
                                        "x-request-id",
                                        "request-id",
                                        "x-should-retry",
                                        "openai-organization",
                                        "anthropic-organization-id",
                                        "x-litellm-response-cost",
                                        "x-gemini-service-tier",
                                        "x-goog-upload-url"};
    static const char *const prefixes[] = {"x-ratelimit-", "anthropic-ratelimit-"};
    for (size_t i = 0; i < VQ_COUNT(exact); i++) {
        if (name.bytes == strlen(exact[i]) && strncasecmp(name.at, exact[i], name.bytes) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < VQ_COUNT(prefixes); i++) {
        size_t n = strlen(prefixes[i]);
        if (name.bytes > n && strncasecmp(name.at, prefixes[i], n) == 0) {
            return true;
        }
    }
    return false;
}

static void keep_header(struct vq_http_call *call, struct vq_span line)
{
    const char *colon = memchr(line.at, ':', line.bytes);
    if (colon == NULL || call->kept_count == VQ_HTTP_KEPT_HEADERS_MAX) {
        return;
    }
    struct vq_span name = vq_span(line.at, (size_t)(colon - line.at));
    struct vq_span value = vq_span_trim(vq_span(colon + 1, line.bytes - name.bytes - 1));
    struct vq_buf *text = &call->kept_text;
    if (!is_kept(name) || name.bytes + value.bytes > text->bytes_max - text->bytes) {
        return;
    }
    struct vq_http_kept kept = {text->bytes, name.bytes, text->bytes + name.bytes, value.bytes};
    for (size_t i = 0; i < name.bytes; i++) {
        vq_buf_putc(text, (char)tolower((unsigned char)name.at[i]));
    }
    vq_buf_append(text, value.at, value.bytes);
    if (text->status == VQ_OK) {
        call->kept[call->kept_count++] = kept;
    }
}

/* ---- libcurl's callbacks ---- */

static void first_byte(struct vq_http_call *call)
{
    if (call->first_byte_ns != 0) {
        return;
    }
    call->first_byte_ns = vq_clock_mono_ns(); /* on_timer then checks the next deadline */
}

static size_t on_header(char *at, size_t size, size_t n, void *ctx)
{
    struct vq_http_call *call = ctx;
    size_t bytes = size * n;
    first_byte(call);
    call->head_bytes += bytes;
    if (call->head_bytes > VQ_HTTP_RESPONSE_HEAD_BYTES_MAX) {
        call->too_big = true;
        return 0;
    }
    /* a new status line: drop the headers of an earlier 1xx response */
    if (bytes >= 5 && memcmp(at, "HTTP/", 5) == 0) {
        call->kept_count = 0;
        vq_buf_clear(&call->kept_text);
    } else if (call->body_bytes == 0) { /* not trailers */
        keep_header(call, vq_span(at, bytes));
    }
    return bytes;
}

static bool count_body(struct vq_http_call *call)
{
    size_t before = call->body_counted;
    call->body_counted = call->body.cap;
    return before == call->body.cap || vq_http_bodies_count(call->http, before, call->body.cap);
}

static bool is_success(const struct vq_http_call *call)
{
    long status = 0;
    (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    return status >= 200 && status <= 299;
}

static size_t on_body(char *at, size_t size, size_t n, void *ctx)
{
    struct vq_http_call *call = ctx;
    size_t bytes = size * n;
    first_byte(call);
    call->body_bytes += bytes;
    if (call->piece != NULL && is_success(call)) {
        return call->piece(call->ctx, vq_span(at, bytes)) ? bytes : 0;
    }
    vq_buf_append(&call->body, at, bytes);
    call->too_big =
        !count_body(call) || call->body.status == VQ_LIMIT || ++call->pieces > VQ_HTTP_PIECES_MAX;
    return call->body.status == VQ_OK && !call->too_big ? bytes : 0;
}

/* Connected, and about to send the request. */
static int on_send(void *ctx, char *ip, char *local_ip, int port, int local_port)
{
    (void)ip;
    (void)local_ip;
    (void)port;
    (void)local_port;
    struct vq_http_call *call = ctx;
    if (call->sent) {
        call->sent_twice = true;
        return CURL_PREREQFUNC_ABORT;
    }
    vq_http_name_found(call); /* for a reused connection, which needs no lookup */
    call->sent = true;
    call->connect_ns = vq_clock_mono_ns();
    return CURL_PREREQFUNC_OK;
}

static curl_socket_t on_open(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)purpose;
    struct vq_http_call *call = ctx;
    vq_http_name_found(call);
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    vq_http_socket_opened(call->http, fd);
    return fd;
}

/* `ctx` is the client, not the call, because a connection outlives the call that opened it. */
static int on_close(void *ctx, curl_socket_t fd)
{
    vq_http_socket_closes(ctx, fd);
    return close(fd);
}

/* ---- deadlines ---- */

/* The time of the next deadline; 0: none. The timer may fire earlier: most calls end long before it
 * fires, so it is not stopped at their end, and not set again for the next calls of the same
 * handle. The timer's handler checks which deadline has passed. */
static int64_t deadline_ns(const struct vq_http_call *call)
{
    if (call->first_byte_ns == 0) {
        return call->start_ns + call->first_byte_ms * VQ_NS_PER_MS;
    }
    return call->slow_bytes == 0 ? 0 : call->slow_from_ns + (int64_t)call->slow_s * VQ_NS_PER_S;
}

static void timer_set(struct vq_http_call *call, int64_t now_ns)
{
    int64_t due_ns = deadline_ns(call);
    if (due_ns == 0) {
        return;
    }
    /* the first byte may arrive at once; the check of slowness is then due after slow_s */
    int64_t slow_ns = (int64_t)call->slow_s * VQ_NS_PER_S;
    if (call->slow_bytes > 0 && due_ns > now_ns + slow_ns) {
        due_ns = now_ns + slow_ns;
    }
    if (vq_timer_is_running(call->timer) && call->timer_ns <= due_ns) {
        return;
    }
    call->timer_ns = due_ns;
    vq_timer_start_at(call->timer, due_ns);
}

static void on_timer(void *ctx)
{
    struct vq_http_call *call = ctx;
    int64_t now_ns = vq_clock_mono_ns();
    if (call->multi == NULL && !call->waits) {
        return; /* the call has ended */
    }
    if (call->first_byte_ns != 0 && call->slow_from_ns == 0) {
        call->slow_from_ns = call->first_byte_ns;
    }
    int64_t due_ns = deadline_ns(call);
    if (due_ns == 0) {
        return;
    }
    if (now_ns < due_ns) {
        timer_set(call, now_ns);
    } else if (call->first_byte_ns == 0) {
        vq_http_call_end(
            call, call->sent ? VQ_TRANSPORT_TIMEOUT_FIRST_BYTE : VQ_TRANSPORT_TIMEOUT_CONNECT,
            call->sent ? "no byte of a response in time" : "no connection in time");
    } else if (call->body_bytes - call->slow_mark < call->slow_bytes) {
        vq_http_call_end(call, VQ_TRANSPORT_SLOW, "the response is too slow");
    } else {
        call->slow_mark = call->body_bytes;
        call->slow_from_ns = now_ns;
        timer_set(call, now_ns);
    }
}

static void on_cancel(void *ctx)
{
    vq_http_call_end(ctx, VQ_TRANSPORT_CANCELLED, "cancelled");
}

/* ---- life ---- */

static bool set_constant_options(struct vq_http_call *call, const char *ca_file, CURLSH *share)
{
    CURL *e = call->easy;
    CURLcode c = CURLE_OK;
#define SET(option, value) c = c != CURLE_OK ? c : curl_easy_setopt(e, option, value)
    SET(CURLOPT_PRIVATE, call);
    SET(CURLOPT_SHARE, share);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_NOPROGRESS, 1L);
    SET(CURLOPT_QUICK_EXIT, 1L); /* a call that ends does not wait for its lookup's thread */
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_TCP_KEEPALIVE, 1L);
    SET(CURLOPT_TCP_NODELAY, 1L);
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(CURLOPT_ACCEPT_ENCODING, "gzip");
    SET(CURLOPT_USERAGENT, "vibeq/" VIBEQ_VERSION);
    SET(CURLOPT_DNS_CACHE_TIMEOUT, (long)VQ_HTTP_DNS_CACHE_S);
    SET(CURLOPT_MAXAGE_CONN, IDLE_CONNECTION_S);
    SET(CURLOPT_BUFFERSIZE, IO_BUFFER_BYTES);
    SET(CURLOPT_UPLOAD_BUFFERSIZE, IO_BUFFER_BYTES);
    SET(CURLOPT_ERRORBUFFER, call->error);
    SET(CURLOPT_HTTPHEADER, call->head);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, call);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, call);
    SET(CURLOPT_PREREQFUNCTION, on_send);
    SET(CURLOPT_PREREQDATA, call);
    SET(CURLOPT_OPENSOCKETFUNCTION, on_open);
    SET(CURLOPT_OPENSOCKETDATA, call);
    SET(CURLOPT_CLOSESOCKETFUNCTION, on_close);
    SET(CURLOPT_CLOSESOCKETDATA, call->http);
    if (ca_file != NULL) {
        SET(CURLOPT_CAINFO, ca_file);
    }
#undef SET
    return c == CURLE_OK;
}

enum vq_status vq_http_call_create(struct vq_http *http, struct vq_loop *loop, const char *ca_file,
                                   CURLSH *share, struct vq_http_call **ret_call)
{
    struct vq_http_call *call;
    VQ_TRY(VQ_ALLOC(call, 1));
    call->http = http;
    call->cancel = (struct vq_deferred){.fn = on_cancel, .ctx = call};
    vq_buf_init(&call->kept_text, VQ_HTTP_KEPT_BYTES_MAX);
    vq_buf_init(&call->head_text, VQ_COUNT(call->head) * LINE_BYTES_MAX);
    call->easy = curl_easy_init();
    if (call->easy == NULL || !set_constant_options(call, ca_file, share) ||
        vq_timer_create(loop, on_timer, call, &call->timer) != VQ_OK) {
        vq_http_call_destroy(&call);
        return VQ_NOMEM;
    }
    *ret_call = call;
    return VQ_OK;
}

static void wipe_headers(struct vq_http_call *call)
{
    if (call->head_text.bytes > 0) {
        vq_wipe(call->head_text.at, call->head_text.bytes);
    }
    vq_buf_clear(&call->head_text);
    call->head_count = 0;
}

void vq_http_call_destroy(struct vq_http_call **call)
{
    struct vq_http_call *self = *call;
    if (self == NULL) {
        return;
    }
    vq_timer_destroy(&self->timer);
    curl_easy_cleanup(self->easy);
    wipe_headers(self);
    vq_buf_free(&self->head_text);
    curl_slist_free_all(self->forgets);
    vq_buf_free(&self->body);
    vq_buf_free(&self->kept_text);
    vq_free(self);
    *call = NULL;
}

/* ---- a request ---- */

static bool is_clean(struct vq_span s)
{
    for (size_t i = 0; i < s.bytes; i++) {
        if (s.at[i] == '\r' || s.at[i] == '\n' || s.at[i] == '\0') {
            return false;
        }
    }
    return true;
}

static bool is_header_name(struct vq_span name)
{
    for (size_t i = 0; i < name.bytes; i++) {
        if (!isalnum((unsigned char)name.at[i]) && strchr("-_.!#$%&'*+^`|~", name.at[i]) == NULL) {
            return false;
        }
    }
    return name.bytes > 0;
}

/* Adds a header line: `prefix`, then `value`. The buffer may move only before a line is added; it
 * never moves after the key, which is the last line. */
static enum vq_status add_header(struct vq_http_call *call, struct vq_span name,
                                 struct vq_span prefix, struct vq_span value)
{
    struct vq_buf *text = &call->head_text;
    size_t most = name.bytes + prefix.bytes + value.bytes + sizeof(": ");
    if (most > LINE_BYTES_MAX || !is_header_name(name) || !is_clean(prefix) || !is_clean(value)) {
        return VQ_INVALID;
    }
    if (vq_buf_reserve(text, most) == NULL) {
        return text->status;
    }
    bool empty = prefix.bytes + value.bytes == 0; /* libcurl's form of an empty header */
    vq_buf_append(text, name.at, name.bytes);
    vq_buf_puts(text, empty ? ";" : ": ");
    vq_buf_append(text, prefix.at, prefix.bytes);
    vq_buf_append(text, value.at, value.bytes);
    vq_buf_putc(text, '\0');
    call->head_count++;
    return text->status;
}

struct secret_use {
    struct vq_http_call *call;
    const struct vq_http_request *request;
};

static enum vq_status add_secret(void *ctx, struct vq_span key)
{
    const struct secret_use *use = ctx;
    const char *name = use->request->secret_header;
    const char *prefix = use->request->secret_prefix;
    return add_header(use->call, vq_span_str(name == NULL ? "Authorization" : name),
                      vq_span_str(prefix == NULL ? "Bearer " : prefix), key);
}

/* Makes libcurl's list of the lines, after the buffer has its final place. */
static void link_headers(struct vq_http_call *call)
{
    char *line = call->head_text.at;
    for (uint32_t i = 0; i < call->head_count; i++) {
        bool last = i + 1 == call->head_count;
        call->head[i] = (struct curl_slist){line, last ? NULL : &call->head[i + 1]};
        line += last ? 0 : strlen(line) + 1;
    }
}

static enum vq_status make_headers(struct vq_http_call *call, const struct vq_http_request *request)
{
    if (request->headers_count > VQ_HTTP_HEADERS_MAX) {
        return VQ_INVALID;
    }
    static const char no_pause[] = "Expect:"; /* libcurl must not wait before a long body */
    vq_buf_append(&call->head_text, no_pause, sizeof(no_pause));
    call->head_count = 1;
    for (uint32_t i = 0; i < request->headers_count; i++) {
        VQ_TRY(
            add_header(call, request->headers[i].name, vq_span("", 0), request->headers[i].value));
    }
    struct secret_use use = {call, request};
    if (request->secret != NULL) {
        VQ_TRY(vq_secret_expose(request->secret, add_secret, &use));
    }
    link_headers(call);
    return call->head_text.status;
}

static bool is_local_host(const char *host)
{
    static const char suffix[] = ".localhost";
    unsigned a, b, c, d;
    char rest;
    size_t n = strlen(host);
    if (strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
        strcmp(host, "::1") == 0) {
        return true;
    }
    if (n > strlen(suffix) && strcasecmp(host + n - strlen(suffix), suffix) == 0) {
        return true;
    }
    return sscanf(host, "%3u.%3u.%3u.%3u%c", &a, &b, &c, &d, &rest) == 4 && a == 127 && b < 256 &&
           c < 256 && d < 256;
}

static bool is_numeric_host(const char *host)
{
    struct in_addr address;
    return host[0] == '[' || inet_pton(AF_INET, host, &address) == 1;
}

/* Checks the URL and finds its scheme and host. Credentials in it are refused, because they would
 * be logged. */
static enum vq_status look_at_url(const char *url, struct vq_http_seen *ret_seen)
{
    char *scheme = NULL, *host = NULL, *port = NULL, *user = NULL;
    CURLU *u = curl_url();
    if (u == NULL) {
        return VQ_NOMEM;
    }
    enum vq_status status = VQ_INVALID;
    if (strlen(url) <= VQ_HTTP_URL_BYTES_MAX &&
        curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_USER, &user, 0) == CURLUE_NO_USER &&
        curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
        (strcmp(scheme, "https") == 0 || strcmp(scheme, "http") == 0) &&
        strlen(host) + strlen(port) + 1 < VQ_HTTP_HOST_BYTES_MAX) {
        ret_seen->https = strcmp(scheme, "https") == 0;
        ret_seen->local = is_local_host(host);
        (void)snprintf(ret_seen->url, sizeof(ret_seen->url), "%s", url);
        ret_seen->host[0] = '\0';
        if (!ret_seen->local && !is_numeric_host(host)) {
            (void)snprintf(ret_seen->host, sizeof(ret_seen->host), "%s:%s", host, port);
        }
        status = VQ_OK;
    }
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_free(user);
    curl_url_cleanup(u);
    return status;
}

bool vq_http_url_is_local(const char *url)
{
    struct vq_http_seen seen;
    if (strstr(url, "://") == NULL) {
        return is_local_host(url);
    }
    return look_at_url(url, &seen) == VQ_OK && seen.local;
}

static enum vq_status check_url(const struct vq_http_request *request, struct vq_http_seen *seen,
                                struct vq_error *err)
{
    bool known = seen->n > 0 && strcmp(request->url, seen->url) == 0;
    if (!known && look_at_url(request->url, seen) != VQ_OK) {
        return vq_fail(err, VQ_INVALID, "not an http or https address without user and password");
    }
    seen->n += known ? 0 : 1;
    if (!seen->https && !seen->local && !request->allow_http) {
        return vq_fail(err, VQ_INVALID, "%.200s: plain http is only for this machine; use https",
                       request->url);
    }
    return VQ_OK;
}

static long ms_or(uint32_t ms, uint32_t otherwise)
{
    return (long)(ms != 0 ? ms : otherwise);
}

static bool set_request_options(struct vq_http_call *call, const struct vq_http_request *r,
                                const struct vq_http_seen *seen)
{
    CURL *e = call->easy;
    CURLcode c = CURLE_OK;
#define SET(option, value) c = c != CURLE_OK ? c : curl_easy_setopt(e, option, value)
    if (call->url_n != seen->n) { /* else they are set already: libcurl copies them each time */
        call->url_n = 0;
        SET(CURLOPT_URL, r->url);
        SET(CURLOPT_PROTOCOLS_STR, seen->https ? "https" : "http");
        SET(CURLOPT_PIPEWAIT, seen->https ? 1L : 0L);
        SET(CURLOPT_PROXY, seen->local ? "" : NULL);
        call->url_n = c == CURLE_OK ? seen->n : 0;
    }
    SET(CURLOPT_CONNECTTIMEOUT_MS, ms_or(r->connect_ms, VQ_HTTP_CONNECT_MS));
    SET(CURLOPT_TIMEOUT_MS, ms_or(r->total_ms, VQ_HTTP_TOTAL_MS));
    SET(CURLOPT_CUSTOMREQUEST, r->method == VQ_HTTP_DELETE ? "DELETE" : NULL);
    if (r->method != VQ_HTTP_POST) {
        SET(CURLOPT_HTTPGET, 1L);
    } else {
        SET(CURLOPT_POST, 1L);
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.bytes);
        SET(CURLOPT_POSTFIELDS, r->body.bytes == 0 ? "" : r->body.at);
    }
#undef SET
    return c == CURLE_OK;
}

enum vq_status vq_http_call_prepare(struct vq_http_call *call,
                                    const struct vq_http_request *request,
                                    struct vq_http_seen *seen, struct vq_error *err)
{
    VQ_TRY(check_url(request, seen, err));
    enum vq_status status = make_headers(call, request);
    if (status == VQ_OK && !set_request_options(call, request, seen)) {
        status = VQ_NOMEM;
    }
    if (status != VQ_OK) {
        wipe_headers(call);
        return vq_fail(err, status, "a call cannot be made: %s",
                       status == VQ_INVALID ? "a header with line ends, or too many or too long"
                                            : "no memory");
    }
    size_t body_max =
        request->body_bytes_max != 0 ? request->body_bytes_max : VQ_HTTP_BODY_BYTES_MAX;
    if (call->body.at == NULL) {
        vq_buf_init(&call->body, body_max);
    }
    call->body.bytes_max = body_max;
    call->piece = request->piece;
    call->done = request->done;
    call->ctx = request->ctx;
    call->slow_s = request->slow_s != 0 ? request->slow_s : VQ_HTTP_SLOW_S;
    call->slow_bytes = (uint64_t)request->slow_bytes_per_s * call->slow_s;
    call->start_ns = vq_clock_mono_ns();
    call->first_byte_ms = ms_or(request->first_byte_ms, VQ_HTTP_FIRST_BYTE_MS);
    timer_set(call, call->start_ns);
    return VQ_OK;
}

void vq_http_call_forget(struct vq_http_call *call, const char *host)
{
    char entry[VQ_HTTP_HOST_BYTES_MAX + 1];
    (void)snprintf(entry, sizeof(entry), "-%s", host);
    VQ_ASSERT(call->forgets == NULL);
    call->forgets = curl_slist_append(NULL, entry);
    if (call->forgets != NULL) { /* if NULL, the cache entry expires later */
        (void)curl_easy_setopt(call->easy, CURLOPT_RESOLVE, call->forgets);
    }
}

/* ---- its end ---- */

static bool is_tls_error(CURLcode code)
{
    switch ((int)code) {
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_SSL_ENGINE_SETFAILED:
    case CURLE_SSL_ENGINE_INITFAILED:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_USE_SSL_FAILED:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CRL_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_CLIENTCERT: return true;
    default: return false;
    }
}

enum vq_transport vq_http_call_classify(const struct vq_http_call *call, CURLcode code)
{
    bool begun = call->first_byte_ns != 0;
    if (code == CURLE_OK) {
        return VQ_TRANSPORT_OK;
    }
    if (call->too_big) {
        return VQ_TRANSPORT_TOO_BIG;
    }
    if (is_tls_error(code)) {
        return VQ_TRANSPORT_TLS;
    }
    switch ((int)code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY: return VQ_TRANSPORT_DNS;
    case CURLE_COULDNT_CONNECT: return VQ_TRANSPORT_CONNECT;
    case CURLE_OPERATION_TIMEDOUT:
        return !call->sent ? VQ_TRANSPORT_TIMEOUT_CONNECT
               : !begun    ? VQ_TRANSPORT_TIMEOUT_FIRST_BYTE
                           : VQ_TRANSPORT_TIMEOUT_TOTAL;
    case CURLE_PARTIAL_FILE: return VQ_TRANSPORT_PARTIAL;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING: return VQ_TRANSPORT_PROTOCOL;
    default: /* reset, closed, an error of HTTP/2, no memory */
        return begun        ? VQ_TRANSPORT_PARTIAL
               : call->sent ? VQ_TRANSPORT_RESET
                            : VQ_TRANSPORT_CONNECT;
    }
}

static int64_t since(const struct vq_http_call *call, int64_t at_ns)
{
    return at_ns == 0 ? 0 : at_ns - call->start_ns;
}

static void make_clean(struct vq_http_call *call)
{
    wipe_headers(call);
    if (call->forgets != NULL) {
        (void)curl_easy_setopt(call->easy, CURLOPT_RESOLVE, NULL);
        curl_slist_free_all(call->forgets);
        call->forgets = NULL;
    }
    if (call->body.cap > KEEP_BODY_BYTES) {
        vq_buf_free(&call->body);
    } else {
        vq_buf_clear(&call->body);
    }
    (void)count_body(call);
    vq_buf_clear(&call->kept_text);
    call->kept_count = 0;
    call->head_bytes = 0;
    call->body_bytes = call->slow_mark = 0;
    call->pieces = 0;
    call->connect_ns = call->first_byte_ns = call->slow_from_ns = 0;
    call->sent = call->sent_twice = call->too_big = false;
    call->error[0] = '\0';
}

void vq_http_call_finish(struct vq_http_call *call, enum vq_transport transport, const char *why)
{
    struct vq_http_header headers[VQ_HTTP_KEPT_HEADERS_MAX];
    for (uint32_t i = 0; i < call->kept_count; i++) {
        const struct vq_http_kept *k = &call->kept[i];
        headers[i] =
            (struct vq_http_header){vq_span(call->kept_text.at + k->name_at, k->name_bytes),
                                    vq_span(call->kept_text.at + k->value_at, k->value_bytes)};
    }
    long status = 0, connects = 0;
    (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(call->easy, CURLINFO_NUM_CONNECTS, &connects);
    struct vq_http_response response = {
        .transport = transport,
        .sent = call->sent,
        .status = (int)status,
        .body = vq_buf_span(&call->body),
        .headers = headers,
        .headers_count = call->kept_count,
        .error = transport == VQ_TRANSPORT_OK ? "" : why,
        .connect_ns = since(call, call->connect_ns),
        .first_byte_ns = since(call, call->first_byte_ns),
        .total_ns = vq_clock_mono_ns() - call->start_ns,
        .reused = call->sent && connects == 0,
    };
    call->done(call->ctx, &response);
    make_clean(call);
}
