# Writes a C++ source that holds published/published.json. Called with OUTPUT and FILE.
file(READ "${FILE}" content)
string(FIND "${content}" ")PUBLISHED\"" end)
if(NOT end EQUAL -1)
  message(FATAL_ERROR "${FILE} contains )PUBLISHED\", which ends the C++ string it goes into")
endif()
file(WRITE "${OUTPUT}" "// Generated from published/published.json. Do not edit.\n#include \"report/published.h\"\n\n"
  "namespace gputopo::report {\n"
  "const std::string_view kPublishedJson = R\"PUBLISHED(${content})PUBLISHED\";\n}  // namespace gputopo::report\n")
