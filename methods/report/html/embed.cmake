# Turns the style and the scripts into one C file: cmake -DFROM=dir -DOUT=file -P embed.cmake. A symbol holds its files one after the other. No
# file may hold what would end its element.
function(embed symbol)
    set(hex "")
    foreach(file ${ARGN})
        file(READ ${FROM}/${file} text)
        if(text MATCHES "</[sS]|<!--")
            message(FATAL_ERROR "${file}: '</s' and '<!--' would end or change the element that holds it")
        endif()
        file(READ ${FROM}/${file} one HEX)
        string(APPEND hex ${one})
    endforeach()
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n    " bytes "${bytes}")
    file(APPEND ${OUT} "static const unsigned char ${symbol}_bytes[] = {\n    ${bytes}\n};\n"
        "const struct vq_span ${symbol} = {(const char *)${symbol}_bytes, sizeof(${symbol}_bytes)};\n\n")
endfunction()

file(WRITE ${OUT} "/* Made by embed.cmake. */\n#include \"methods/report/html/html.h\"\n\n")
embed(vq_html_css page.css)
embed(vq_html_items_js items.js)
