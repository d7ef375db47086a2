# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Writes a source with the texts of files in it: cmake -DOUTPUT=FILE.cpp -DHTML=... -DSTYLE=... -DSCRIPT=... -DLIBRARY=... -P embed.cmake
function(literal_of file result)
  file(READ "${file}" text)
  string(LENGTH "${text}" length)
  set(pieces "")
  set(at 0)
  while(at LESS length)  # a literal of C++ has at least 64 KiB everywhere
    string(SUBSTRING "${text}" ${at} 16000 piece)
    string(APPEND pieces "R\"__page__(${piece})__page__\"\n")
    math(EXPR at "${at} + 16000")
  endwhile()
  set(${result} "${pieces}" PARENT_SCOPE)
endfunction()

set(source "// Made by embed.cmake.\n#include \"observe/page/page_parts.hpp\"\n\nnamespace sluice::page_parts {\n\n")
foreach(part HTML STYLE SCRIPT LIBRARY)
  literal_of("${${part}}" literal)
  string(TOLOWER ${part} name)
  string(APPEND source "std::string_view ${name}() {\n  static constexpr char text[] =\n${literal};\n  return {text, sizeof text - 1};\n}\n\n")
endforeach()
file(WRITE "${OUTPUT}" "${source}}  // namespace sluice::page_parts\n")
