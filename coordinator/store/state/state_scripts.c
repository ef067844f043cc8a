/* The scripts for a run's state in Redis, one per operation: first the checks, then all of the
 * work. The columns' names are in a set, because a stage removes those of the stage before; they
 * share RUN's slot. Invariants: the tally changes as the column's bytes change, counted here. A
 * commit number rises by one, and only for its owner. A script that was already done does nothing
 * and returns ok. Not its job: the meaning of a refusal (run_state.c). */
#include "coordinator/store/state/state_scripts.h"

const char *const vq_state_scripts[VQ_STATE_SCRIPTS] = {
    /* ARGV: my owner text, owner before, uid, epoch, n, n - 1; each n as STAGE:n */
    [VQ_STATE_SCRIPT_BEGIN] =
        "local o = redis.call('GET', KEYS[1])\n"
        "local c = redis.call('GET', KEYS[2])\n"
        "if not o then return {'rebuild', 'Redis holds nothing of this run'} end\n"
        "if o ~= ARGV[1] then\n"
        "  local uid, epoch = string.match(o, '^(%x+):(%d+):')\n"
        "  if uid ~= ARGV[3] or tonumber(epoch) >= tonumber(ARGV[4]) then return {'owner', o} end\n"
        "  if o ~= ARGV[2] then return {'rebuild', 'Redis missed a start'} end\n"
        "end\n"
        "if c ~= ARGV[5] and c ~= ARGV[6] then\n"
        "  return {'rebuild', 'Redis is at commit ' .. (c or 'none') .. ', the store at ' .. "
        "ARGV[5]}\n"
        "end\n"
        "redis.call('SET', KEYS[1], ARGV[1])\n"
        "if c == ARGV[5] then return {'equal', ''} end\n"
        "return {'behind', 'Redis is one commit behind'}\n",
    /* ARGV: my owner text, uid, epoch, tasks */
    [VQ_STATE_SCRIPT_WIPE] =
        "local o = redis.call('GET', KEYS[1])\n"
        "if o and o ~= ARGV[1] then\n"
        "  local uid, epoch = string.match(o, '^(%x+):(%d+):')\n"
        "  if uid ~= ARGV[2] or tonumber(epoch) >= tonumber(ARGV[3]) then return {'owner', o} end\n"
        "end\n"
        "for _, k in ipairs(redis.pcall('SMEMBERS', KEYS[4])) do redis.call('DEL', k) end\n"
        "redis.call('DEL', unpack(KEYS))\n"
        "redis.call('SET', KEYS[1], ARGV[1])\n"
        "for i = 5, #KEYS do redis.call('SADD', KEYS[4], KEYS[i]) end\n"
        "redis.call('HSET', KEYS[3], '0', ARGV[4])\n"
        "return {'ok', ''}\n",
    /* ARGV: my owner text, number of pieces, then offset and bytes of each, then pairs for the
     * tally */
    [VQ_STATE_SCRIPT_FILL] =
        "local o = redis.call('GET', KEYS[1])\n"
        "if o ~= ARGV[1] then return {'owner', o or ''} end\n"
        "if redis.call('EXISTS', KEYS[2]) == 1 then return {'commit', 'not being filled'} end\n"
        "local at = 3\n"
        "for i = 1, tonumber(ARGV[2]) do\n"
        "  redis.call('SETRANGE', KEYS[4 + i], ARGV[at], ARGV[at + 1])\n"
        "  at = at + 2\n"
        "end\n"
        "for i = at, #ARGV, 2 do redis.call('HINCRBY', KEYS[3], ARGV[i], ARGV[i + 1]) end\n"
        "return {'ok', ''}\n",
    /* ARGV: my owner text, n */
    [VQ_STATE_SCRIPT_FILL_END] =
        "local o = redis.call('GET', KEYS[1])\n"
        "if o ~= ARGV[1] then return {'owner', o or ''} end\n"
        "if redis.call('EXISTS', KEYS[2]) == 1 then return {'commit', 'not being filled'} end\n"
        "redis.call('SET', KEYS[2], ARGV[2])\n"
        "return {'ok', ''}\n",
    /* ARGV: my owner text, n, n - 1, sequences of bytes: key index, offset, length (32 bits,
     * little-endian each), bytes */
    [VQ_STATE_SCRIPT_APPLY] =
        "local o = redis.call('GET', KEYS[1])\n"
        "if o ~= ARGV[1] then return {'owner', o or ''} end\n"
        "local c = redis.call('GET', KEYS[2])\n"
        "if c == ARGV[2] then return {'ok', 'again'} end\n"
        "if c ~= ARGV[3] then return {'commit', c or 'none'} end\n"
        "local runs, at, delta = ARGV[4], 1, {}\n"
        "while at <= #runs do\n"
        "  local k, from, n = struct.unpack('<I4I4I4', runs, at)\n"
        "  local new = string.sub(runs, at + 12, at + 11 + n)\n"
        "  at = at + 12 + n\n"
        "  local old = redis.call('GETRANGE', KEYS[k], from, from + n - 1)\n"
        "  if old ~= new then\n"
        "    for j = 1, n do\n"
        "      local was, is = string.byte(old, j) or 0, string.byte(new, j)\n"
        "      if was ~= is then\n"
        "        delta[was] = (delta[was] or 0) - 1\n"
        "        delta[is] = (delta[is] or 0) + 1\n"
        "      end\n"
        "    end\n"
        "    redis.call('SETRANGE', KEYS[k], from, new)\n"
        "  end\n"
        "end\n"
        "for outcome, d in pairs(delta) do\n"
        "  if d ~= 0 then redis.call('HINCRBY', KEYS[3], outcome, d) end\n"
        "end\n"
        "redis.call('SET', KEYS[2], ARGV[2])\n"
        "return {'ok', ''}\n",
    [VQ_STATE_SCRIPT_CHECK] = "local o = redis.call('GET', KEYS[1])\n"
                              "if o ~= ARGV[1] then return {'owner', o or ''} end\n"
                              "return {'ok', ''}\n",
    /* ARGV: my owner text, n. Replies {'ok', bytes} */
    [VQ_STATE_SCRIPT_READ] = "local o = redis.call('GET', KEYS[1])\n"
                             "if o ~= ARGV[1] then return {'owner', o or ''} end\n"
                             "local c = redis.call('GET', KEYS[2])\n"
                             "if c ~= ARGV[2] then return {'commit', c or 'none'} end\n"
                             "return {'ok', redis.call('GET', KEYS[5]) or ''}\n",
};
