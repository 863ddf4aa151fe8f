#include "device/replay/replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/replay/recording.h"
#include "file/host.h"
#include "gputopo/file.h"

namespace gputopo {
namespace {

class ReplayDevice : public Device {
 public:
  explicit ReplayDevice(Recording recording) : recording_(std::move(recording)) {}

  [[nodiscard]] const DeviceInfo& info() const override { return recording_.info; }

  [[nodiscard]] std::vector<ProgramResult> run(std::span<const Program> programs) override {
    std::vector<std::string> texts;
    for (const Program& program : programs) {
      validate(program);
      texts.push_back(to_text(program));
    }
    // Programs that failed together are recorded as the first of them, with the error. The others need no answer.
    const bool failed = !texts.empty() && std::holds_alternative<RecordedError>(upcoming_answer(texts.front()));
    if (!failed) {
      for (const std::string& text : texts) static_cast<void>(upcoming_answer(text));
    }
    std::vector<ProgramResult> results;
    if (ended_ && ended_()) throw EndedError("the measurement ended before all programs had run");
    for (const std::string& text : texts) results.push_back(next_answer(text));
    return results;
  }

  [[nodiscard]] std::vector<std::string> warnings() override { return recording_.warnings; }

  void set_stop_condition(std::function<bool()> ended) override { ended_ = std::move(ended); }

 private:
  const RecordedAnswer& upcoming_answer(const std::string& text) {
    const auto found = recording_.answers.find(text);
    if (found == recording_.answers.end()) {
      // The message does not blame the device, which may well run it. The exit code shows that values are unavailable.
      throw DeviceError(
          "the recording does not contain a program that this measurement needs, because the recording was made by "
          "another version of gputopo or with other options; replay it with the original version and options, or "
          "record again");
    }
    const std::vector<RecordedAnswer>& answers = found->second;
    return answers[std::min(given_[text], answers.size() - 1)];
  }

  const ProgramResult& next_answer(const std::string& text) {
    const RecordedAnswer& answer = upcoming_answer(text);
    ++given_[text];
    if (const auto* error = std::get_if<RecordedError>(&answer)) throw_recorded(*error);
    return std::get<ProgramResult>(answer);
  }

  Recording recording_;
  std::map<std::string, std::size_t> given_;  // number of answers given to each program
  std::function<bool()> ended_;
};

}  // namespace

std::unique_ptr<Device> open_recording_bytes(std::string_view bytes) {
  return std::make_unique<ReplayDevice>(decode_recording(bytes));
}

std::unique_ptr<Device> open_recording(const std::string& path) {
  const std::string bytes = read_file(path);
  try {
    return open_recording_bytes(bytes);
  } catch (const FormatError& error) {
    throw FormatError(fmt::format("{}: {}", path, error.what()));
  }
}

struct Recorder::State {
  std::unique_ptr<Device> device;  // null: closed
  DeviceInfo closed_info;          // description of the closed device
  bool with_pci_address = false;
  std::map<std::string, std::vector<RecordedAnswer>> answers;
  std::vector<std::string> warnings;  // as of the last request
  DeviceInfo::Origin origin{.timestamp = utc_timestamp(), .host_cpu = host_cpu(), .os = host_os()};
};

Recorder::Recorder(std::unique_ptr<Device> device, bool with_pci_address)
    : state_(std::make_unique<State>(State{.device = std::move(device), .with_pci_address = with_pci_address})) {}

Recorder::~Recorder() = default;

const DeviceInfo& Recorder::info() const {
  return state_->device == nullptr ? state_->closed_info : state_->device->info();
}

void Recorder::close() {
  state_->closed_info = info();
  state_->device.reset();
}

std::vector<ProgramResult> Recorder::run(std::span<const Program> programs) {
  for (const Program& program : programs) validate(program);
  try {
    std::vector<ProgramResult> results = state_->device->run(programs);
    for (std::size_t i = 0; i < programs.size(); ++i) state_->answers[to_text(programs[i])].push_back(results.at(i));
    return results;
  } catch (const EndedError&) {
    throw;  // not an answer
  } catch (const Error& error) {
    // The failing program is unknown. A replay of these programs reaches the first one first.
    if (!programs.empty()) {
      state_->answers[to_text(programs.front())].emplace_back(std::in_place_type<RecordedError>, record_error(error));
    }
    throw;
  }
}

void Recorder::expect(std::span<const Program> programs) { state_->device->expect(programs); }
void Recorder::set_stop_condition(std::function<bool()> ended) { state_->device->set_stop_condition(std::move(ended)); }

void Recorder::rest(double seconds) { state_->device->rest(seconds); }

std::vector<std::string> Recorder::warnings() {
  state_->warnings = state_->device->warnings();
  return state_->warnings;
}

std::optional<DeviceHealth> Recorder::health() { return state_->device->health(); }

DeviceTimes Recorder::times() const { return state_->device->times(); }

std::vector<NamedCallTimes> Recorder::call_times() const { return state_->device->call_times(); }

std::string Recorder::native_code(const Program& program) { return state_->device->native_code(program); }

void Recorder::save(const std::string& path) const {
  Recording recording{.info = info(), .answers = state_->answers, .warnings = state_->warnings};
  if (!state_->with_pci_address) recording.info.pci_address.clear();
  // A copy of a recording keeps its origin, because it is no new measurement.
  if (!recording.info.recorded) recording.info.recorded = state_->origin;
  try {
    write_file(path, encode_readable_recording(recording));
  } catch (const FormatError& error) {
    throw FormatError(
        fmt::format("the recording '{}' was not written, because 'gputopo replay' could not read it: {}; select fewer "
                    "elements (--only)",
                    path, error.what()));
  }
}

}  // namespace gputopo
