// Checks and returns the message of an exception.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <typeinfo>

#include "gputopo/program.h"

namespace gputopo::test {

inline const ChaseProgram kChase{
    .arrays = {{.bytes = 4096, .stride_bytes = 64}}, .actors = {{}}, .steps = {{.loads = 64}}};

// The one-line message of the exception that `act` throws. The exception must have exactly this type.
template <typename Exception, typename Act>
std::string message_of(const std::string& behaviour, const Act& act) {
  try {
    act();
  } catch (const Exception& error) {
    EXPECT_EQ(typeid(error), typeid(Exception)) << error.what();
    EXPECT_THAT(error.what(), ::testing::Not(::testing::HasSubstr("\n")));
    return error.what();
  }
  ADD_FAILURE() << behaviour << ": no exception";
  return {};
}

}  // namespace gputopo::test
