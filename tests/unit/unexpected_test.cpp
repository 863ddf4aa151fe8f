// Failures of the standard library in words for users, and folders read without exceptions.
#include "file/unexpected.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include "file/folder_entries.h"
#include "gputopo/error.h"
#include "gputopo/file.h"
#include "support/command.h"

namespace gputopo {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST(Unexpected, IsSaidInWordsThatHelp) {
  EXPECT_EQ(explain_unexpected(FormatError("the file is cut short")), "the file is cut short");
  EXPECT_THAT(explain_unexpected(std::bad_alloc()), StartsWith("out of memory on the host; "));
  EXPECT_THAT(explain_unexpected(std::length_error("basic_string::_M_create")),
              StartsWith("out of memory on the host; "));
  EXPECT_THAT(explain_unexpected(
                  fs::filesystem_error("cannot get status", "/a", std::error_code(EACCES, std::system_category()))),
              AllOf(HasSubstr("(Permission denied); check"), Not(HasSubstr("filesystem"))));
  EXPECT_THAT(explain_unexpected(std::out_of_range("map::at")), HasSubstr("please report it"));
}

TEST(FolderEntries, AreSortedAndNeverThrow) {
  const test::TemporaryFolder folder;
  for (const char* name : {"b", "a", "c"}) write_file(folder.file(name), "");
  EXPECT_THAT(folder_entries(folder.path()), ElementsAre(folder.file("a"), folder.file("b"), folder.file("c")));
  EXPECT_THAT(folder_entries(folder.file("a")), IsEmpty());
  EXPECT_THAT(folder_entries(folder.file("none")), IsEmpty());
  EXPECT_THAT(folder_entries(std::string(5000, 'n')), IsEmpty());
}

}  // namespace
}  // namespace gputopo
