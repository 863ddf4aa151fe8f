// Recordings that cannot be read: one clear line that says what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/replay/recording.h"
#include "device/replay/replay.h"
#include "gputopo/report.h"
#include "support/command.h"

namespace gputopo {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string good_recording() {
  Recording recording;
  recording.info.name = "some GPU";
  recording.answers["program"] = {ProgramResult{.data = StreamResult{.bytes_moved = 1, .seconds = 2, .cycles = 3}}};
  return encode_recording(recording);
}

class RecordingFile : public testing::Test {
 protected:
  const test::TemporaryFolder folder_;
  const std::string path_ = folder_.file("recording");

  // What opening a file of these bytes says.
  std::string message_for(const std::string& bytes) {
    write_file(path_, bytes);
    try {
      static_cast<void>(open_device("replay:" + path_, 1));
      return "opened";
    } catch (const FormatError& error) {
      return error.what();
    }
  }
};

TEST_F(RecordingFile, AGoodOneOpens) { EXPECT_EQ(message_for(good_recording()), "opened"); }

TEST_F(RecordingFile, OfSomethingElse) {
  for (const std::string& bytes : {std::string("{\"schema_version\": 1}"), std::string(), std::string(1000, '\0')}) {
    EXPECT_THAT(message_for(bytes), AllOf(HasSubstr(path_), HasSubstr("not a gputopo recording"), HasSubstr("--record"),
                                          Not(HasSubstr("\n"))));
  }
}

TEST_F(RecordingFile, TruncatedAnywhere) {
  const std::string whole = good_recording();
  for (std::size_t size = 1; size < whole.size(); ++size) {
    ASSERT_THAT(message_for(whole.substr(0, size)),
                AllOf(HasSubstr("truncated or corrupt"), HasSubstr("copy it again")))
        << size << " of " << whole.size() << " bytes";
  }
}

TEST_F(RecordingFile, WithAnyByteFlipped) {
  const std::string whole = good_recording();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    ASSERT_NE(message_for(damaged), "opened") << "byte " << i;
  }
}

TEST_F(RecordingFile, OfAnotherVersion) {
  EXPECT_THAT(message_for(encode_recording({}, kRecordingVersion + 1)),
              AllOf(HasSubstr("version 2"), HasSubstr("reads version 1"), HasSubstr("record again")));
}

TEST_F(RecordingFile, ThatIsNotThere) {
  EXPECT_THROW(static_cast<void>(open_device("replay:/nonexistent/file", 1)), FileError);
}

TEST_F(RecordingFile, CannotBeWritten) {
  class NoDevice : public Device {
    [[nodiscard]] const DeviceInfo& info() const override { return info_; }
    [[nodiscard]] std::vector<ProgramResult> run(std::span<const Program>) override { return {}; }
    DeviceInfo info_;
  };
  const Recorder recorder(std::make_unique<NoDevice>());
  EXPECT_THROW(recorder.save("/nonexistent/folder/recording"), FileError);
}

}  // namespace
}  // namespace gputopo
