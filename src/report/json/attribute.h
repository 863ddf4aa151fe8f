// Attributes as JSON, with their evidence, for reports of GPUs and of nodes.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "gputopo/model.h"
#include "report/json/node.h"

namespace gputopo::report {

// Thins the samples as in every report. A number that is not finite becomes an absent value.
[[nodiscard]] nlohmann::ordered_json attribute_json(const Attribute& attribute);
// Adds one member per attribute, under its name.
void add_attributes(nlohmann::ordered_json& json, const AttributeMap& attributes);
// Throws a FormatError.
[[nodiscard]] Attribute read_attribute(const Node& node, const std::string& name);

// Like Json::dump(2), with two spaces per level, but a list of plain values is one line, and so is each small object of
// a list: samples are thousands of numbers in dozens of columns. Ends with a newline.
[[nodiscard]] std::string pretty_text(const nlohmann::ordered_json& json);

}  // namespace gputopo::report
