# Turns the style and the modules into one C file: cmake -DFROM=dir -DSHARED=dir -DOUT=file -P embed.cmake. Modules in one file cannot import each other,
# so a symbol holds its modules one after the other, without their import lines and the word export: one inline script, one hash.
# A module in SHARED is also served to the page of a run. An import is one line, and no two modules of a symbol define the same name.
function(embed symbol)
    set(all "")
    foreach(file ${ARGN})
        set(from ${FROM})
        if(EXISTS ${SHARED}/${file})
            set(from ${SHARED})
        endif()
        file(READ ${from}/${file} text)
        if(text MATCHES "</[sS]|<!--")
            message(FATAL_ERROR "${file}: '</s' and '<!--' would end or change the element that holds it")
        endif()
        string(REGEX REPLACE "(^|\n)import [^\n]*" "\\1" text "${text}")
        string(REGEX REPLACE "(^|\n)export " "\\1" text "${text}")
        string(APPEND all "${text}")
    endforeach()
    file(WRITE ${OUT}.part "${all}")
    file(READ ${OUT}.part hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n    " bytes "${bytes}")
    file(APPEND ${OUT} "static const unsigned char ${symbol}_bytes[] = {\n    ${bytes}\n};\n"
        "const struct vq_span ${symbol} = {(const char *)${symbol}_bytes, sizeof(${symbol}_bytes)};\n\n")
    file(REMOVE ${OUT}.part)
endfunction()

set(shared dom.js numbers.js format.js save.js table.js chart.js search.js frame.js)

file(WRITE ${OUT} "/* Made by embed.cmake. */\n#include \"methods/report/html/html.h\"\n\n")
embed(vq_page_css theme.css page.css)
embed(vq_page_vibecheck_js ${shared} rows.js vibecheck.js ranking.js vibecheck_main.js)
embed(vq_page_rubric_js ${shared} rubric.js)
embed(vq_page_persona_js ${shared} curves.js persona.js)
