/* Private to the store: the Lua scripts of run_state.c. KEYS: owner, commit, tally, columns, blocks
 * of a column. ARGV[1] is always this coordinator's owner text. Replies: {word, detail}. */
#pragma once

enum vq_state_script {
    VQ_STATE_SCRIPT_BEGIN,
    VQ_STATE_SCRIPT_WIPE,
    VQ_STATE_SCRIPT_FILL,
    VQ_STATE_SCRIPT_FILL_END,
    VQ_STATE_SCRIPT_APPLY,
    VQ_STATE_SCRIPT_CHECK,
    VQ_STATE_SCRIPT_READ,
    VQ_STATE_SCRIPTS
};

extern const char *const vq_state_scripts[VQ_STATE_SCRIPTS];
