#include "device/replay/recording.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "device/info_fields.h"

namespace gputopo {
namespace {

using SortedJson = nlohmann::json;

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMostDocumentBytes = 1ull << 30;
constexpr char kRecordAgain[] = "record again with --record";

[[noreturn]] void throw_corrupt() {
  throw FormatError(fmt::format("the recording is truncated or corrupt; copy it again or {}", kRecordAgain));
}

// ---- Errors ----

struct ErrorType {
  std::string_view name;
  bool (*matches)(const Error&);
  void (*raise)(const RecordedError&);
};

template <typename Exception>
bool is_a(const Error& error) {
  return dynamic_cast<const Exception*>(&error) != nullptr;
}

template <typename Exception>
void raise_plain(const RecordedError& error) {
  throw Exception(error.what);
}

template <typename Exception>
void raise_with_status(const RecordedError& error) {
  throw Exception(error.what, error.status);
}

// Most derived first.
constexpr std::array kErrorTypes = {
    ErrorType{"not_supported", is_a<NotSupportedError>, raise_with_status<NotSupportedError>},
    ErrorType{"device_memory", is_a<DeviceMemoryError>, raise_with_status<DeviceMemoryError>},
    ErrorType{"device_lost", is_a<DeviceLostError>, raise_with_status<DeviceLostError>},
    ErrorType{"device", is_a<DeviceError>, raise_with_status<DeviceError>},
    ErrorType{"usage", is_a<UsageError>, raise_plain<UsageError>},
    ErrorType{"error", [](const Error&) { return true; }, raise_plain<Error>},
};

// ---- DeviceInfo ----

template <typename T>
void put(SortedJson& object, const char* name, const T& value) {
  object[name] = value;
}

template <typename T>
void put(SortedJson& object, const char* name, const std::optional<T>& value) {
  if (value) object[name] = *value;
}

template <typename T>
void get(const SortedJson& object, const char* name, T& value) {
  object.at(name).get_to(value);
}

template <typename T>
void get(const SortedJson& object, const char* name, std::optional<T>& value) {
  if (object.contains(name)) value = object.at(name).get<T>();
}

// What a process sees of the device, beside what visit_info_fields() covers.
template <typename Info, typename Visit>
void visit_view_fields(Info& info, Visit&& visit) {
  visit("simulated", info.simulated);
  visit("pci_address", info.pci_address);
  visit("memory_free_bytes", info.memory_free_bytes);
  visit("spaces", info.spaces);
  visit("max_array_bytes", info.max_array_bytes);
}

SortedJson encode_info(const DeviceInfo& info) {
  SortedJson object = SortedJson::object();
  const auto put_field = [&](const char* name, const auto& value) { put(object, name, value); };
  visit_info_fields(info, put_field);
  visit_view_fields(info, put_field);
  return object;
}

DeviceInfo decode_info(const SortedJson& object) {
  DeviceInfo info;
  const auto get_field = [&](const char* name, auto& value) { get(object, name, value); };
  visit_info_fields(info, get_field);
  visit_view_fields(info, get_field);
  info.backend = "replay";
  return info;
}

// ---- Answers ----

// The length, then bin and count of every bin that counts something.
SortedJson encode_histogram(const std::vector<std::uint32_t>& histogram) {
  SortedJson sparse = SortedJson::array({histogram.size()});
  for (std::size_t bin = 0; bin < histogram.size(); ++bin) {
    if (histogram[bin] == 0) continue;
    sparse.push_back(bin);
    sparse.push_back(histogram[bin]);
  }
  return sparse;
}

std::vector<std::uint32_t> decode_histogram(const SortedJson& sparse) {
  const auto length = sparse.at(0).get<std::size_t>();
  if (length > kHistogramBins || sparse.size() % 2 == 0) throw_corrupt();
  std::vector<std::uint32_t> histogram(length);
  for (std::size_t i = 1; i < sparse.size(); i += 2) {
    sparse[i + 1].get_to(histogram.at(sparse[i].get<std::size_t>()));
  }
  return histogram;
}

SortedJson encode_result(const ProgramResult& result) {
  SortedJson answer = {{"clock", result.sm_clock_mhz}, {"carve_out", result.shared_carve_out_bytes}};
  // Only what is not the default, which older recordings do not hold either.
  if (!result.undisturbed) answer["undisturbed"] = result.undisturbed;
  if (result.started_seconds != 0) answer["started"] = result.started_seconds;
  if (const auto* stream = std::get_if<StreamResult>(&result.data)) {
    answer["stream"] = {stream->bytes_moved, stream->seconds, stream->cycles};
    return answer;
  }
  if (const auto* code = std::get_if<InstructionResult>(&result.data)) {
    answer["code"] = {code->pass_cycles, code->sms, code->block_bytes, code->loop_bytes};
    return answer;
  }
  if (const auto* access = std::get_if<AccessResult>(&result.data)) {
    answer["access"] = {access->least_cycles, access->mean_cycles, access->most_cycles, access->total_cycles,
                        access->blocks};
    return answer;
  }
  if (const auto* cluster = std::get_if<ClusterResult>(&result.data)) {
    answer["cluster"] = {cluster->sms,     cluster->cycles,           cluster->bytes_moved,
                         cluster->seconds, cluster->clusters_at_once, cluster->largest_cluster};
    return answer;
  }
  const auto& chase = std::get<ChaseResult>(result.data);
  answer["sm"] = chase.sm;
  SortedJson& steps = answer["steps"] = SortedJson::array();
  for (const StepResult& step : chase.steps) {
    steps.push_back({step.loads, step.total_cycles, step.latencies, encode_histogram(step.histogram)});
  }
  return answer;
}

ProgramResult decode_result(const SortedJson& answer) {
  ProgramResult result;
  answer.at("clock").get_to(result.sm_clock_mhz);
  answer.at("carve_out").get_to(result.shared_carve_out_bytes);
  if (answer.contains("undisturbed")) answer["undisturbed"].get_to(result.undisturbed);
  if (answer.contains("started")) answer["started"].get_to(result.started_seconds);
  if (answer.contains("stream")) {
    const SortedJson& stream = answer["stream"];
    result.data = StreamResult{.bytes_moved = stream.at(0).get<std::uint64_t>(),
                               .seconds = stream.at(1).get<double>(),
                               .cycles = stream.at(2).get<double>()};
    return result;
  }
  if (answer.contains("code")) {
    const SortedJson& code = answer["code"];
    result.data = InstructionResult{.pass_cycles = code.at(0).get<std::vector<std::vector<std::uint64_t>>>(),
                                    .sms = code.at(1).get<std::vector<std::uint32_t>>(),
                                    .block_bytes = code.at(2).get<double>(),
                                    .loop_bytes = code.at(3).get<std::uint32_t>()};
    return result;
  }
  if (answer.contains("access")) {
    const SortedJson& access = answer["access"];
    result.data = AccessResult{.least_cycles = access.at(0).get<double>(),
                               .mean_cycles = access.at(1).get<double>(),
                               .most_cycles = access.at(2).get<double>(),
                               .total_cycles = access.at(3).get<double>(),
                               .blocks = access.at(4).get<std::uint32_t>()};
    return result;
  }
  if (answer.contains("cluster")) {
    const SortedJson& cluster = answer["cluster"];
    result.data = ClusterResult{.sms = cluster.at(0).get<std::vector<std::uint32_t>>(),
                                .cycles = cluster.at(1).get<std::vector<double>>(),
                                .bytes_moved = cluster.at(2).get<std::uint64_t>(),
                                .seconds = cluster.at(3).get<double>(),
                                .clusters_at_once = cluster.at(4).get<std::uint32_t>(),
                                .largest_cluster = cluster.at(5).get<std::uint32_t>()};
    return result;
  }
  ChaseResult chase;
  answer.at("sm").get_to(chase.sm);
  for (const SortedJson& step : answer.at("steps")) {
    chase.steps.push_back({.loads = step.at(0).get<std::uint64_t>(),
                           .total_cycles = step.at(1).get<std::uint64_t>(),
                           .latencies = step.at(2).get<std::vector<std::uint32_t>>(),
                           .histogram = decode_histogram(step.at(3))});
  }
  result.data = std::move(chase);
  return result;
}

SortedJson encode_answer(const RecordedAnswer& answer) {
  if (const auto* result = std::get_if<ProgramResult>(&answer)) return encode_result(*result);
  const auto& error = std::get<RecordedError>(answer);
  return {{"error", error.type}, {"what", error.what}, {"status", error.status}};
}

RecordedAnswer decode_answer(const SortedJson& answer) {
  if (!answer.contains("error")) return decode_result(answer);
  RecordedError error{.type = answer.at("error").get<std::string>(),
                      .what = answer.at("what").get<std::string>(),
                      .status = answer.at("status").get<std::string>()};
  const bool known = std::any_of(kErrorTypes.begin(), kErrorTypes.end(),
                                 [&](const ErrorType& type) { return type.name == error.type; });
  if (!known) throw_corrupt();
  return error;
}

// ---- Bytes ----

std::string compress_bytes(const std::vector<std::uint8_t>& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string packed(size, '\0');
  // The best compression takes twenty times as long, for a tenth of the size.
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size, bytes.data(), bytes.size(), Z_DEFAULT_COMPRESSION) !=
      Z_OK) {
    throw Error("the recording could not be compressed; free some memory and try again");
  }
  packed.resize(size);
  return packed;
}

std::vector<std::uint8_t> decompress_bytes(std::string_view packed, std::uint64_t length) {
  if (length > kMostDocumentBytes) throw_corrupt();
  std::vector<std::uint8_t> bytes(length);
  uLongf size = bytes.size();
  const int status = uncompress(bytes.data(), &size, reinterpret_cast<const Bytef*>(packed.data()), packed.size());
  if (status != Z_OK || size != length) throw_corrupt();
  return bytes;
}

Recording decode_document(const SortedJson& document) {
  const int version = document.at("version").get<int>();
  if (version != kRecordingVersion) {
    throw FormatError(
        fmt::format("the recording has version {}, this gputopo reads version {}; {} or use the gputopo "
                    "that made it",
                    version, kRecordingVersion, kRecordAgain));
  }
  Recording recording{.info = decode_info(document.at("info")), .answers = {}, .warnings = {}};
  if (document.contains("warnings")) get(document, "warnings", recording.warnings);
  for (const SortedJson& entry : document.at("answers")) {
    std::vector<RecordedAnswer>& answers = recording.answers[entry.at(0).get<std::string>()];
    for (const SortedJson& answer : entry.at(1)) answers.push_back(decode_answer(answer));
    if (answers.empty()) throw_corrupt();
  }
  return recording;
}

}  // namespace

RecordedError record_error(const Error& error) {
  const auto* type =
      std::find_if(kErrorTypes.begin(), kErrorTypes.end(), [&](const ErrorType& t) { return t.matches(error); });
  const auto* device_error = dynamic_cast<const DeviceError*>(&error);
  return {.type = std::string(type->name),
          .what = error.what(),
          .status = device_error == nullptr ? std::string() : device_error->status()};
}

void throw_recorded(const RecordedError& error) {
  for (const ErrorType& type : kErrorTypes) {
    if (type.name == error.type) type.raise(error);
  }
  throw_corrupt();
}

std::string encode_recording(const Recording& recording, int version) {
  SortedJson document = {{"version", version}, {"info", encode_info(recording.info)}};
  if (!recording.warnings.empty()) document["warnings"] = recording.warnings;
  SortedJson& entries = document["answers"] = SortedJson::array();
  for (const auto& [text, answers] : recording.answers) {
    SortedJson encoded = SortedJson::array();
    for (const RecordedAnswer& answer : answers) encoded.push_back(encode_answer(answer));
    entries.push_back({text, std::move(encoded)});
  }
  const std::vector<std::uint8_t> bytes = SortedJson::to_cbor(document);
  std::string file(kRecordingMagic);
  for (std::size_t i = 0; i < kLengthBytes; ++i) file += static_cast<char>(bytes.size() >> (8 * i) & 0xff);
  return file + compress_bytes(bytes);
}

Recording decode_recording(std::string_view bytes) {
  const std::string_view start = bytes.substr(0, kRecordingMagic.size());
  if (start != kRecordingMagic.substr(0, start.size()) || start.empty()) {
    throw FormatError("not a gputopo recording; give a file written by --record");
  }
  bytes.remove_prefix(start.size());
  if (bytes.size() < kLengthBytes) throw_corrupt();
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= std::uint64_t{static_cast<std::uint8_t>(bytes[i])} << (8 * i);
  }
  bytes.remove_prefix(kLengthBytes);
  const std::vector<std::uint8_t> document = decompress_bytes(bytes, length);
  try {
    return decode_document(SortedJson::from_cbor(document));
  } catch (const SortedJson::exception&) {
    throw_corrupt();
  } catch (const std::out_of_range&) {
    throw_corrupt();
  }
}

}  // namespace gputopo
