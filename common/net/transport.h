/* How one HTTP exchange ended on the transport level. Provider tables use this header, so it has no
 * third-party include. */
#pragma once

enum vq_transport {
    VQ_TRANSPORT_OK = 0,             /* a complete response, of any HTTP status */
    VQ_TRANSPORT_DNS,                /* the host (or the proxy) has no address */
    VQ_TRANSPORT_CONNECT,            /* refused or unreachable */
    VQ_TRANSPORT_TLS,                /* handshake or certificate */
    VQ_TRANSPORT_TIMEOUT_CONNECT,    /* no connection (TLS included) in time */
    VQ_TRANSPORT_TIMEOUT_FIRST_BYTE, /* connected, no byte of a response in time */
    VQ_TRANSPORT_TIMEOUT_TOTAL,      /* a response began and was not complete in time */
    VQ_TRANSPORT_SLOW,               /* fewer bytes per second than required, for too long */
    VQ_TRANSPORT_RESET,              /* the connection broke before a byte of the response */
    VQ_TRANSPORT_PARTIAL,            /* the connection broke inside the response */
    VQ_TRANSPORT_TOO_BIG,            /* body or headers over the cap */
    VQ_TRANSPORT_PROTOCOL,           /* not HTTP, a refused scheme, a bad URL */
    VQ_TRANSPORT_CANCELLED,          /* by this process */
    VQ_TRANSPORT__COUNT
};
