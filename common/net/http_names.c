/* Limits lookups to one at a time per host. libcurl resolves the host of each new connection in a
 * separate thread, so a worker that starts 2,000 calls at once would start 2,000 threads for the
 * same lookup. So the first call to a host with an unknown address leads. The others wait, under
 * their own deadlines, and start when the leader opens a socket. The address is then in the cache
 * that all handles share. If the host does not answer there, it is looked up again, since it may
 * have moved.
 *
 * Invariants: a name has at most one leader; a waiting call is in no multi handle; if the leader
 * ends without an address, the waiting calls end in the same way, or the first of them leads if the
 * leader was only cancelled. */
#include "common/base/clock.h"
#include "common/net/http_private.h"

#include <stdio.h>

#define KNOWN_NS ((VQ_HTTP_DNS_CACHE_S - 10) * VQ_NS_PER_S)

static struct vq_http_call *take_first(struct vq_http_name *name)
{
    struct vq_http_call *first = name->waiting;
    if (first != NULL) {
        name->waiting = first->next_waiting;
        if (name->waiting == NULL) {
            name->waiting_last = NULL;
        }
        first->next_waiting = NULL;
    }
    return first;
}

static void put_last(struct vq_http_name *name, struct vq_http_call *call)
{
    if (name->waiting_last != NULL) {
        name->waiting_last->next_waiting = call;
    } else {
        name->waiting = call;
    }
    name->waiting_last = call;
    call->waits = true;
}

static void take_out(struct vq_http_name *name, struct vq_http_call *call)
{
    struct vq_http_call *before = NULL;
    for (struct vq_http_call *c = name->waiting; c != NULL; before = c, c = c->next_waiting) {
        if (c == call) {
            *(before != NULL ? &before->next_waiting : &name->waiting) = call->next_waiting;
            name->waiting_last = name->waiting_last == call ? before : name->waiting_last;
            break;
        }
    }
    call->next_waiting = NULL;
    call->waits = false;
}

static bool is_known(const struct vq_http_name *name)
{
    return vq_clock_mono_ns() < name->known_until_ns;
}

static void go(struct vq_http_call *call)
{
    call->waits = false;
    if (vq_http_call_go(call) != VQ_OK) {
        call->waits = true; /* the call is in no multi handle and in no list */
        vq_http_call_end(call, VQ_TRANSPORT_CONNECT, "no memory");
    }
}

static void take_lead(struct vq_http_name *name, struct vq_http_call *call)
{
    name->leader = call;
    if (name->stale) {
        name->stale = false;
        vq_http_call_forget(call, name->host);
    }
}

static void lead(struct vq_http_name *name, struct vq_http_call *call)
{
    if (call != NULL) {
        take_lead(name, call);
        go(call);
    }
}

/* Releases the calls that wait now, but not calls that a done function starts meanwhile. */
static void release_all(struct vq_http_name *name, bool failed)
{
    struct vq_http_call *last = name->waiting_last;
    for (bool more = last != NULL; more;) {
        struct vq_http_call *call = take_first(name);
        more = call != last && name->waiting != NULL;
        if (failed) {
            vq_http_call_end(call, name->failure, "another call found no address for this host");
        } else {
            go(call);
        }
    }
}

static void on_release(void *ctx)
{
    struct vq_http_name *name = ctx;
    bool failed = name->failed;
    name->failed = false;
    if (failed || is_known(name)) {
        release_all(name, failed);
    } else if (name->leader == NULL) {
        lead(name, take_first(name));
    }
    /* a waiting call must lead, or no call would release the others */
    if (name->waiting != NULL && name->leader == NULL) {
        vq_loop_defer(vq_http_loop(name->http), &name->release);
    }
}

struct vq_http_name *vq_http_name_of(struct vq_http_name *names, const char *host)
{
    if (host[0] == '\0') {
        return NULL;
    }
    for (size_t i = 0; i < VQ_HTTP_NAMES_MAX; i++) {
        struct vq_http_name *name = &names[i];
        if (name->host[0] == '\0') {
            (void)snprintf(name->host, sizeof(name->host), "%s", host);
            name->release = (struct vq_deferred){.fn = on_release, .ctx = name};
        }
        if (strcmp(name->host, host) == 0) {
            return name;
        }
    }
    return NULL;
}

bool vq_http_name_enter(struct vq_http_name *name, struct vq_http_call *call)
{
    if (is_known(name)) {
        return true;
    }
    if (name->leader == NULL && name->waiting == NULL) {
        take_lead(name, call);
        return true;
    }
    put_last(name, call);
    return false;
}

void vq_http_name_found(struct vq_http_call *call)
{
    struct vq_http_name *name = call->name;
    if (name != NULL && name->leader == call) {
        name->leader = NULL;
        name->known_until_ns = vq_clock_mono_ns() + KNOWN_NS;
        vq_loop_defer(vq_http_loop(name->http), &name->release);
    }
}

void vq_http_name_leave(struct vq_http_call *call, enum vq_transport transport)
{
    struct vq_http_name *name = call->name;
    call->name = NULL;
    if (name != NULL && !call->waits &&
        (transport == VQ_TRANSPORT_CONNECT || transport == VQ_TRANSPORT_TIMEOUT_CONNECT)) {
        name->stale = true;
        name->known_until_ns = 0;
    }
    if (call->waits) {
        take_out(name, call);
    } else if (name != NULL && name->leader == call) {
        name->leader = NULL;
        name->failed = transport != VQ_TRANSPORT_CANCELLED;
        name->failure = transport;
        vq_loop_defer(vq_http_loop(name->http), &name->release);
    }
}
