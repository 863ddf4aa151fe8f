// The text of a node, regardless of the texts in its document.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "file/sanitize.h"
#include "gputopo/error.h"
#include "gputopo/file.h"
#include "gputopo/node.h"

namespace gputopo {
namespace {

using Json = nlohmann::ordered_json;

// In turn, each text of the document ends with terminal control sequences.
TEST(NodeText, NoTextOfTheDocumentCommandsATerminal) {
  const Json document = Json::parse(read_file(GPUTOPO_SOURCE_DIR "/tests/reports/h100x2.json"));
  const Json flat = document.flatten();
  int accepted = 0;
  for (const auto& [pointer, value] : flat.items()) {
    if (!value.is_string()) continue;
    Json changed = document;
    changed[Json::json_pointer(pointer)] =
        value.get<std::string>() + "\x1b[2J\u009b1m\u202e\r\n" + std::string(1, '\0');
    try {
      const std::string text = node_to_text(read_node_json(changed.dump()), 80);
      ++accepted;
      EXPECT_EQ(sanitized_text(text), text) << pointer;
    } catch (const FormatError&) {
      // This field accepts only a few words.
    }
  }
  EXPECT_GT(accepted, 50);
}

}  // namespace
}  // namespace gputopo
