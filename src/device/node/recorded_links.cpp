#include "device/node/recorded_links.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <map>

#include "device/node/places_json.h"
#include "file/json_text.h"
#include "gputopo/error.h"
#include "gputopo/file.h"
#include "program/transfer_fields.h"

namespace gputopo {
namespace node {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "gputopo-links";
constexpr std::uint32_t kVersion = 1;

// A recording keeps six digits of a time. Results are rounded in the same way, so that a replay gives the same.
double rounded(double seconds) {
  double result = seconds;
  const std::string text = fmt::format("{:.6g}", seconds);
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

std::string links_path(const std::string& folder) { return (std::filesystem::path(folder) / "links.json").string(); }

std::vector<double> read_times(const Json& json, const char* name, const std::string& path) {
  const Json& times = list_member(json, name, path);
  std::vector<double> result;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (!times[i].is_number()) refuse(item_of(within(path, name), i), "is not a number");
    result.push_back(times[i].get<double>());
  }
  return result;
}

TransferResult read_result(const Json& json, const TransferProgram& program, const std::string& path) {
  TransferResult result;
  result.seconds = read_times(json, "seconds", path);
  if (json.contains("begins")) result.begins = read_times(json, "begins", path);
  if (const std::string wrong = result_mismatch(program, result); !wrong.empty()) refuse(path, wrong);
  return result;
}

class RecordedLinks : public Links {
 public:
  RecordedLinks(const Json& root, const std::string& folder) {
    if (member<std::string>(root, "format", "") != kFormat) refuse("format", fmt::format("must be {}", kFormat));
    if (member<std::uint32_t>(root, "version", "") != kVersion) {
      refuse("version", "is not known to this version of gputopo: use the version that made the recording");
    }
    const auto info = root.find("info");
    if (info == root.end()) refuse("info", "is missing");
    info_ = read_info(*info);
    info_.backend = "replay";
    for (std::size_t i = 0; i < info_.gpus.size(); ++i) {
      info_.gpus[i].spec = "replay:" + gpu_recording_path(folder, i);
    }
    const Json& answers = list_member(root, "answers", "");
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const std::string path = item_of("answers", i);
      const std::string text = member<std::string>(answers[i], "program", path);
      const TransferProgram program = parse_transfer(text);
      answers_[text].push_back(read_result(answers[i], program, path));
    }
  }

  [[nodiscard]] const NodeInfo& info() const override { return info_; }

  [[nodiscard]] TransferResult run(const TransferProgram& program) override {
    validate(program);
    const std::string text = to_text(program);
    const auto found = answers_.find(text);
    if (found == answers_.end()) {
      throw DeviceError(
          "the recording does not contain a transfer that this measurement needs, because the recording was made by "
          "another version of gputopo or with other options; replay it with the original version and options, or "
          "record again");
    }
    const std::size_t next = std::min(given_[text]++, found->second.size() - 1);
    return found->second[next];
  }

 private:
  NodeInfo info_;
  std::map<std::string, std::vector<TransferResult>> answers_;
  std::map<std::string, std::size_t> given_;
};

}  // namespace

std::string gpu_recording_path(const std::string& folder, std::size_t gpu) {
  return (std::filesystem::path(folder) / fmt::format("gpu{}.gputopo", gpu)).string();
}

std::unique_ptr<Links> open_recorded_links(const std::string& folder) {
  const std::string path = links_path(folder);
  const std::string text = read_file(path);
  try {
    return std::make_unique<RecordedLinks>(parse_json<Json>(text), folder);
  } catch (const FormatError& error) {
    throw FormatError(fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace node

TransferResult LinksRecorder::run(const TransferProgram& program) {
  TransferResult result = links_->run(program);
  for (double& seconds : result.seconds) seconds = node::rounded(seconds);
  for (double& seconds : result.begins) seconds = node::rounded(seconds);
  return answers_->emplace_back(program, std::move(result)).second;
}

void save_links(const std::string& folder, const NodeInfo& info, const LinkAnswers& answers) {
  nlohmann::ordered_json root;
  root["format"] = node::kFormat;
  root["version"] = node::kVersion;
  NodeInfo anonymous = info;
  for (NodeGpu& gpu : anonymous.gpus) {
    gpu.pci_address = gpu.id = "";
    for (PciHop& hop : gpu.pci_link.hops) hop.port.clear();
  }
  root["info"] = node::info_json(anonymous);
  nlohmann::ordered_json& kept = root["answers"] = nlohmann::ordered_json::array();
  for (const auto& [program, result] : answers) {
    nlohmann::ordered_json answer;
    answer["program"] = to_text(program);
    answer["seconds"] = result.seconds;
    if (!result.begins.empty()) answer["begins"] = result.begins;
    kept.push_back(std::move(answer));
  }
  write_file(node::links_path(folder), root.dump() + "\n");
}

}  // namespace gputopo
