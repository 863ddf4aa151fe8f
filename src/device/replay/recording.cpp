#include "device/replay/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "device/driver/info_check.h"
#include "device/driver/info_fields.h"
#include "device/replay/recorded_fields.h"
#include "device/replay/recorded_values.h"
#include "device/replay/recording_bytes.h"
#include "file/cbor_check.h"
#include "file/json_text.h"
#include "file/shown.h"
#include "program/kinds.h"

namespace gputopo {
namespace {

using recorded::item;
using recorded::ListReader;
using recorded::ListWriter;
using recorded::ObjectReader;
using recorded::ObjectWriter;
using recorded::Place;
using recorded::read;
using recorded::refuse;
using recorded::SortedJson;

constexpr char kOtherKind[] = "is the result of another kind of program";

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

// Most derived type first.
constexpr std::array kErrorTypes = {
    ErrorType{"not_supported", is_a<NotSupportedError>, raise_with_status<NotSupportedError>},
    ErrorType{"device_memory", is_a<DeviceMemoryError>, raise_with_status<DeviceMemoryError>},
    ErrorType{"device_lost", is_a<DeviceLostError>, raise_with_status<DeviceLostError>},
    ErrorType{"device", is_a<DeviceError>, raise_with_status<DeviceError>},
    ErrorType{"usage", is_a<UsageError>, raise_plain<UsageError>},
    ErrorType{"error", [](const Error&) { return true; }, raise_plain<Error>},
};

// ---- DeviceInfo ----

// Fields of a process's view of the device, besides those of visit_info_fields().
template <typename Info, typename Visit>
void visit_view_fields(Info& info, Visit&& visit) {
  visit("simulated", info.simulated);
  visit("pci_address", info.pci_address);
  visit("memory_free_bytes", info.memory_free_bytes);
  visit("spaces", info.spaces);
  visit("max_array_bytes", info.max_array_bytes);
}

template <typename Origin, typename Visit>
void visit_origin_fields(Origin& origin, Visit&& visit) {
  visit("timestamp", origin.timestamp);
  visit("host_cpu", origin.host_cpu);
  visit("os", origin.os);
}

SortedJson encode_info(const DeviceInfo& info) {
  SortedJson object = SortedJson::object();
  visit_info_fields(info, ObjectWriter(object));
  visit_view_fields(info, ObjectWriter(object));
  if (info.recorded) visit_origin_fields(*info.recorded, ObjectWriter(object["recorded"]));
  return object;
}

DeviceInfo decode_info(const SortedJson& object) {
  DeviceInfo info;
  const Place place{nullptr, "info"};
  visit_info_fields(info, ObjectReader(object, place));
  visit_view_fields(info, ObjectReader(object, place));
  info.backend = "replay";
  info.recorded.emplace();  // older recordings do not have it
  const Place origin{&place, "recorded"};
  if (object.contains("recorded")) visit_origin_fields(*info.recorded, ObjectReader(object["recorded"], origin));
  if (info.spaces.size() > kNames<Space>.size())
    refuse({&place, "spaces"}, "has more entries than there are memory spaces");
  check_info(info, "info");
  return info;
}

// ---- Answers ----

// A chase's answer is stored beside the fields of every answer, and other answers as a list named after the kind.
template <typename Result>
constexpr bool kStandsBeside = std::same_as<Result, ChaseResult>;

SortedJson encode_result(const ProgramResult& result) {
  SortedJson answer = SortedJson::object();
  visit_fields(result, ObjectWriter(answer));
  const std::string kind(ProgramKinds::kNames.at(result.data.index()));
  std::visit(
      [&]<typename Result>(const Result& data) {
        if constexpr (kStandsBeside<Result>) {
          visit_fields(data, ObjectWriter(answer));
        } else {
          visit_fields(data, ListWriter(answer[kind]));
        }
      },
      result.data);
  return answer;
}

template <typename Kind>
ResultOf<Kind> decode_data(const SortedJson& answer, const Place& place, const Kind&) {
  ResultOf<Kind> data;
  const std::string key(kStandsBeside<ResultOf<Kind>> ? "steps" : Kind::kKind);
  if (!answer.contains(key)) throw FormatError(kOtherKind);
  if constexpr (kStandsBeside<ResultOf<Kind>>) {
    visit_fields(data, ObjectReader(answer, place));
  } else {
    const Place of_kind{&place, key};
    visit_fields(data, ListReader(answer.at(key), of_kind));
  }
  return data;
}

// Throws FormatError if the result does not fit the program or could not be read again.
void check_result(const Program& program, const ProgramResult& result) {
  if (!std::isfinite(result.sm_clock_mhz) || !std::isfinite(result.started_seconds)) {
    throw FormatError("has a clock or start time that is not a finite number");
  }
  if (result.sm_clock_mhz < 0) throw FormatError("has a clock that is less than zero");
  std::visit(
      [&]<typename Kind>(const Kind& of_kind) {
        const auto* data = std::get_if<ResultOf<Kind>>(&result.data);
        if (data == nullptr) throw FormatError(kOtherKind);
        if (const std::string wrong = result_mismatch(of_kind, *data); !wrong.empty()) throw FormatError(wrong);
      },
      program);
}

ProgramResult decode_result(const SortedJson& answer, const Place& place, const Program& program) {
  ProgramResult result;
  visit_fields(result, ObjectReader(answer, place));
  if (result.sm_clock_mhz < 0) refuse({&place, "clock"}, "is less than zero");
  std::visit([&](const auto& of_kind) { result.data = decode_data(answer, place, of_kind); }, program);
  check_result(program, result);
  return result;
}

SortedJson encode_answer(const RecordedAnswer& answer) {
  if (const auto* result = std::get_if<ProgramResult>(&answer)) return encode_result(*result);
  const auto& error = std::get<RecordedError>(answer);
  return {{"error", error.type}, {"what", error.what}, {"status", error.status}};
}

RecordedAnswer decode_answer(const SortedJson& answer, const Program& program) {
  const Place place{nullptr, "answer"};
  if (!answer.contains("error")) return decode_result(answer, place, program);
  RecordedError error;
  ObjectReader reader(answer, place);
  reader("error", error.type);
  reader("what", error.what);
  reader("status", error.status);
  const bool known = std::any_of(kErrorTypes.begin(), kErrorTypes.end(),
                                 [&](const ErrorType& type) { return type.name == error.type; });
  if (!known)
    refuse({&place, "error"}, fmt::format("is '{}', which this version of gputopo does not know", shown(error.type)));
  return error;
}

Program parse_recorded(std::string_view text) {
  try {
    return parse_program(text);
  } catch (const FormatError& error) {
    throw FormatError(
        fmt::format("the recording contains a program that this version of gputopo does not know ({}); use the version "
                    "that made the recording",
                    error.what()));
  }
}

// Decodes the answers to the `index`-th program of the file.
void decode_entry(const SortedJson& entry, std::size_t index, Recording& recording) {
  std::string text;
  const Place list{nullptr, "answers"};
  const Place place{&list, {}, index};
  read(item(entry, 0, place), {&place, {}, 0}, text);
  const SortedJson& encoded = item(entry, 1, place);
  if (!encoded.is_array() || encoded.empty()) refuse({&place, {}, 1}, "must be a list of at least one result or error");
  const Program program = parse_recorded(text);
  std::vector<RecordedAnswer>& answers = recording.answers[text];
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    try {
      answers.push_back(decode_answer(encoded[i], program));
    } catch (const FormatError& error) {
      throw FormatError(fmt::format("the device's recorded answer {} to program {} ('{}'): {}; {}", i + 1, index + 1,
                                    shown(text), error.what(), kRecordAgain));
    }
  }
}

// For the parts of the document that are not answers: adds to errors that they are of the recording.
template <typename Decode>
auto of_recording(const Decode& decode) {
  try {
    return decode();
  } catch (const FormatError& error) {
    throw FormatError(fmt::format("the recording's {}; {}", error.what(), kRecordAgain));
  }
}

Recording decode_document(const SortedJson& document) {
  if (!document.is_object() || !document.contains("version") || !document["version"].is_number_integer()) {
    throw_corrupt_recording();
  }
  const auto version = document["version"].get<std::int64_t>();
  if (version != kRecordingVersion) {
    throw FormatError(fmt::format(
        "the recording's format has version {}, but this gputopo reads version {}; {} or use the version of "
        "gputopo that made it",
        version, kRecordingVersion, kRecordAgain));
  }
  if (!document.contains("info") || !document.contains("answers") || !document["answers"].is_array())
    throw_corrupt_recording();
  Recording recording{
      .info = of_recording([&] { return decode_info(document["info"]); }), .answers = {}, .warnings = {}};
  if (document.contains("warnings")) {
    of_recording([&] { read(document["warnings"], {nullptr, "warnings"}, recording.warnings); });
  }
  const SortedJson& entries = document["answers"];
  for (std::size_t i = 0; i < entries.size(); ++i) decode_entry(entries[i], i, recording);
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
  throw_corrupt_recording();
}

namespace {

std::vector<std::uint8_t> encode_document(const Recording& recording, int version) {
  SortedJson document = {{"version", version}, {"info", encode_info(recording.info)}};
  if (!recording.warnings.empty()) document["warnings"] = recording.warnings;
  SortedJson& entries = document["answers"] = SortedJson::array();
  for (const auto& [text, answers] : recording.answers) {
    SortedJson encoded = SortedJson::array();
    for (const RecordedAnswer& answer : answers) encoded.push_back(encode_answer(answer));
    entries.push_back({text, std::move(encoded)});
  }
  return SortedJson::to_cbor(document);
}

// Throws FormatError for what decode_document() would refuse, because a device may answer anything.
void check_readable(const Recording& recording) {
  static_cast<void>(decode_info(SortedJson::from_cbor(SortedJson::to_cbor(encode_info(recording.info)))));
  for (const auto& [text, answers] : recording.answers) {
    const Program program = parse_recorded(text);
    for (const RecordedAnswer& answer : answers) {
      const auto* result = std::get_if<ProgramResult>(&answer);
      if (result == nullptr) continue;
      try {
        check_result(program, *result);
      } catch (const FormatError& error) {
        throw FormatError(fmt::format("the device's result for '{}' {}", shown(text), error.what()));
      }
    }
  }
}

}  // namespace

std::string encode_recording(const Recording& recording, int version) {
  return recording_of(encode_document(recording, version));
}

std::string encode_readable_recording(const Recording& recording) {
  check_readable(recording);
  const std::vector<std::uint8_t> bytes = encode_document(recording, kRecordingVersion);
  check_content_length(bytes.size());
  check_cbor(bytes);
  return recording_of(bytes);
}

Recording decode_recording(std::string_view bytes) {
  const std::vector<std::uint8_t> document = recording_content(bytes);
  check_cbor(document);
  BoundedBuilder<SortedJson> builder(limits::kMaxRecordedItems);
  if (!SortedJson::sax_parse(document, &builder, SortedJson::input_format_t::cbor)) throw_corrupt_recording();
  return decode_document(builder.document());
}

}  // namespace gputopo
