/* Bounds of the fields of a message, for messages.def. The sender cuts its texts and lists to
 * them. */
#pragma once

#define VQ_WIRE_NAME_BYTES_MAX   256u        /* a name of a worker, host, run, model, judge, axis */
#define VQ_WIRE_TEXT_BYTES_MAX   1024u       /* a sentence for people */
#define VQ_WIRE_URL_BYTES_MAX    2048u       /* base URL, identity, key reference */
#define VQ_WIRE_SAMPLE_BYTES_MAX (13u << 20) /* prompt (a whole dialogue), output A, output B */
#define VQ_WIRE_PROMPT_BYTES_MAX (1u << 20)  /* a template, an axis text */
#define VQ_WIRE_SPEC_BYTES_MAX   (8u << 20)  /* an encoded spec */
#define VQ_WIRE_JUDGES_MAX       4096u
#define VQ_WIRE_POOLS_MAX        256u
#define VQ_WIRE_PARKED_MAX       4096u /* pairs of judge and pool */
#define VQ_WIRE_KEYS_MAX         64u   /* of one pool */
#define VQ_WIRE_AXES_MAX         4096u
#define VQ_WIRE_ASKS_MAX         (2u * VQ_WIRE_AXES_MAX) /* of one lease: all vibes, both orders */
#define VQ_WIRE_TURNS_MAX        VQ_WIRE_AXES_MAX        /* of one chain */
#define VQ_WIRE_RESULTS_MAX      4096u /* of one RESULTS; the frame's limit counts too */
#define VQ_WIRE_ACKS_MAX         65536u
#define VQ_WIRE_HELD_LEASES_MAX  50000u
#define VQ_WIRE_HELD_CALLS_MAX   200000u
#define VQ_WIRE_HTTP_STATUS_MAX  999u
/* Of a batch at a provider. A value of OpenAI's metadata, which carries the name, may have 512. */
#define VQ_WIRE_BATCH_NAME_BYTES_MAX 64u
#define VQ_WIRE_BATCH_CALLS_MAX      100000u
