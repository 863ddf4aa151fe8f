// An attribute as JSON, with its evidence: of reports of GPUs and of nodes.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "gputopo/model.h"
#include "report/json/node.h"

namespace gputopo::report {

// Samples thinned as in every report; what is not a finite number is no value.
[[nodiscard]] nlohmann::ordered_json attribute_json(const Attribute& attribute);
// A member for each, by its name.
void add_attributes(nlohmann::ordered_json& json, const AttributeMap& attributes);
// Throws FormatError.
[[nodiscard]] Attribute read_attribute(const Node& node, const std::string& name);

// Two spaces a level, as Json::dump(2), but a list of plain values is one line, and so is each of a list of small
// objects: samples are thousands of numbers, of dozens of columns. A newline at the end.
[[nodiscard]] std::string pretty_text(const nlohmann::ordered_json& json);

}  // namespace gputopo::report
