# cmake -DPROGRAM=vibeq -DTEMPLATE=vibeq.1.in -DVERSION=... -DOUT=vibeq.1 -P fill-manual.cmake: inserts the
# program's own list of commands into the prose.
cmake_minimum_required(VERSION 3.25)
cmake_policy(SET CMP0053 NEW)
execute_process(COMMAND ${PROGRAM} __manual man OUTPUT_VARIABLE commands COMMAND_ERROR_IS_FATAL ANY)
file(READ ${TEMPLATE} page)
string(REPLACE "@VERSION@" "${VERSION}" page "${page}")
string(REPLACE "@COMMANDS@\n" "${commands}" page "${page}")
file(WRITE ${OUT} "${page}")
