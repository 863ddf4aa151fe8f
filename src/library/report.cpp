#include "library/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "file/shown.h"
#include "gputopo/error.h"
#include "gputopo/file.h"
#include "gputopo/report.h"
#include "library/memory.h"
#include "model/likeness.h"
#include "report/formats.h"

namespace gputopo::library {
namespace {

constexpr std::size_t kDashes = 2;  // before the option of a format

std::string render_table(const Topology& topology) { return to_terminal(topology, {}); }
std::string render_tree(const Topology& topology) { return to_tree(topology, {}); }

std::vector<report::Format> all_formats() {
  std::vector<report::Format> formats = report::formats();
  formats.push_back({.option = "--table", .help = "", .render = render_table});
  formats.push_back({.option = "--tree", .help = "", .render = render_tree});
  return formats;
}

std::string render(const Topology& topology, const std::string& name) {
  std::vector<std::string> names;
  for (const report::Format& format : all_formats()) {
    if (name == format.option + kDashes) return format.render(topology);
    names.emplace_back(format.option + kDashes);
  }
  throw UsageError(fmt::format("unknown format '{}'; {}the formats are {}", shown(name), did_you_mean(name, names),
                               fmt::join(by_likeness(name, names), ", ")));
}

gputopo_report* read(std::string_view json) { return add_report(std::make_shared<const Topology>(read_json(json))); }

}  // namespace
}  // namespace gputopo::library

using namespace gputopo;
using namespace gputopo::library;

extern "C" {

int gputopo_load(const char* path, gputopo_report** report) {
  return guarded([&]() -> int {
    if (path == nullptr) return fail_with_null("gputopo_load", "path");
    if (report == nullptr) return fail_with_null("gputopo_load", "report");
    const std::string json = read_file(path);
    try {
      *report = read(json);
    } catch (const FormatError& error) {
      throw FormatError(fmt::format("'{}': {}", path, error.what()));
    }
    return GPUTOPO_OK;
  });
}

int gputopo_parse(const char* json, size_t length, gputopo_report** report) {
  return guarded([&]() -> int {
    if (json == nullptr) return fail_with_null("gputopo_parse", "json");
    if (report == nullptr) return fail_with_null("gputopo_parse", "report");
    *report = read({json, length});
    return GPUTOPO_OK;
  });
}

void gputopo_report_free(gputopo_report* report) {
  static_cast<void>(guarded([&]() -> int {
    remove_report(report);
    return GPUTOPO_OK;
  }));
}

int gputopo_complete(const gputopo_report* report, int32_t* complete) {
  return with_report("gputopo_complete", report, [&](const Topology& topology) -> int {
    if (complete == nullptr) return fail_with_null("gputopo_complete", "complete");
    *complete = topology.complete ? 1 : 0;
    return GPUTOPO_OK;
  });
}

int gputopo_render(const gputopo_report* report, const char* format, char** text, size_t* length) {
  return with_report("gputopo_render", report, [&](const Topology& topology) -> int {
    if (format == nullptr) return fail_with_null("gputopo_render", "format");
    if (text == nullptr) return fail_with_null("gputopo_render", "text");
    const std::string rendered = render(topology, format);
    *text = copy_of_text(rendered).release();
    if (length != nullptr) *length = rendered.size();
    return GPUTOPO_OK;
  });
}

void gputopo_string_free(char* text) { std::free(text); }
}
