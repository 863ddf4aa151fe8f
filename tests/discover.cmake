# Writes which tests of an executable ctest is to start, as POST_BUILD of that executable: up to MOST of one suite, and of
# one parameter where it has some, in one process, because to start a process takes longer than most tests.
#
#   cmake -D EXECUTABLE=FILE -D PREFIX=NAME -D MOST=N -D COSTLY=REGEX -D OUTPUT=FILE -P discover.cmake
#
# COSTLY: suites that begin first. A group is skipped if all of its tests are; tests/check_skips.py names each skipped test.
execute_process(COMMAND ${EXECUTABLE} --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${EXECUTABLE} does not list its tests: ${result}")
endif()
string(REPLACE "\n" ";" lines "${listed}")

set(script "")
set(suite "")
set(parameters "")

# Of those that `group_PARAMETER` lists.
macro(end_group parameter)
  set(group ${group_${parameter}})
  set(group_${parameter} "")
  list(LENGTH group count)
  if(count GREATER 0)
    list(GET group 0 first)
    set(name "${PREFIX}.${suite}${first}")
    if(count GREATER 1)
      math(EXPR more "${count} - 1")
      string(APPEND name " and ${more} more")
    endif()
    list(TRANSFORM group PREPEND "${suite}")
    list(JOIN group ":" filter)
    set(cost 0)
    if(suite MATCHES "${COSTLY}")
      set(cost 1)
    endif()
    string(APPEND script "add_test([=[${name}]=] [=[${EXECUTABLE}]=] [=[--gtest_filter=${filter}]=] --skipped=77)\n"
           "set_tests_properties([=[${name}]=] PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1800 LABELS ${PREFIX} COST ${cost})\n")
  endif()
endmacro()

foreach(line IN LISTS lines ITEMS "end.")
  string(REGEX REPLACE " +#.*" "" line "${line}")
  if(line MATCHES "^[^ ]+\\.$")
    foreach(parameter IN LISTS parameters)
      end_group("${parameter}")
    endforeach()
    set(suite "${line}")
    set(parameters "")
  elseif(line MATCHES "^  DISABLED_")
    # Started by hand.
  elseif(line MATCHES "^  ([^ /]+)/?([^ ]*)$")
    string(MAKE_C_IDENTIFIER "of ${CMAKE_MATCH_2}" parameter)
    string(STRIP "${line}" test)
    list(APPEND group_${parameter} "${test}")
    list(APPEND parameters "${parameter}")
    list(REMOVE_DUPLICATES parameters)
    list(LENGTH group_${parameter} count)
    if(count EQUAL MOST)
      end_group("${parameter}")
    endif()
  endif()
endforeach()
file(WRITE ${OUTPUT} "${script}")
