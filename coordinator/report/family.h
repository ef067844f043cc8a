/* The maker of a model, by its name. */
#ifndef VQ_REPORT_FAMILY_H
#define VQ_REPORT_FAMILY_H

/* "OpenAI", ...; NULL where the name says nothing. */
const char *vq_model_family(const char *model);

#endif
