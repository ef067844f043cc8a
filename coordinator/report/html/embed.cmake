# Turns page.css, page.js, items.js and rank.js into one C file: cmake -DFROM=dir -DOUT=file -P embed.cmake. Neither may hold what would end its element.
function(embed symbol file)
    file(READ ${file} text)
    if(text MATCHES "</[sS]|<!--")
        message(FATAL_ERROR "${file}: '</s' and '<!--' would end or change the element that holds it")
    endif()
    file(READ ${file} hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n    " bytes "${bytes}")
    file(APPEND ${OUT} "static const unsigned char ${symbol}_bytes[] = {\n    ${bytes}\n};\n"
        "const struct vq_span ${symbol} = {(const char *)${symbol}_bytes, sizeof(${symbol}_bytes)};\n\n")
endfunction()

file(WRITE ${OUT} "/* Made from page.css, page.js, items.js and rank.js by embed.cmake. */\n#include \"coordinator/report/html/parts.h\"\n\n")
embed(vq_html_css ${FROM}/page.css)
embed(vq_html_js ${FROM}/page.js)
embed(vq_html_items_js ${FROM}/items.js)
embed(vq_html_rank_js ${FROM}/rank.js)
