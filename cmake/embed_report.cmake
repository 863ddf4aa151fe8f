# Writes a C++ source that holds the style and the script of HTML reports (web/dist). Called with OUTPUT, STYLE and SCRIPT.
file(READ "${STYLE}" style)
file(READ "${SCRIPT}" script)
foreach(text style script)
  string(FIND "${${text}}" ")REPORT\"" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "web/dist contains )REPORT\", which ends the C++ string it goes into")
  endif()
endforeach()
file(WRITE "${OUTPUT}" "// Generated from web/dist. Do not edit.\n#include \"report/html_page.h\"\n\nnamespace gputopo::report {\n"
  "const std::string_view kPageStyle = R\"REPORT(${style})REPORT\";\n"
  "const std::string_view kPageScript = R\"REPORT(${script})REPORT\";\n}  // namespace gputopo::report\n")
