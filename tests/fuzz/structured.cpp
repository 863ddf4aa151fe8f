#include "fuzz/structured.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "file/cbor_check.h"
#include "file/json_text.h"

namespace gputopo::fuzz {
namespace {

// Keeps the order of the file, so a mutation leaves the rest unchanged.
using Json = nlohmann::ordered_json;

class Mutation {
 public:
  Mutation(Json& document, std::mt19937_64& random, const TextMutation& text) : random_(random), text_(text) {
    collect(document);
  }

  void change() {
    Json& value = *values_[below(values_.size())];
    switch (below(4)) {
      case 0:
        value = Json(any_value());
        break;
      case 1:
        value = awkward_value();
        break;
      default:
        change_as_its_type(value);
    }
  }

 private:
  void collect(Json& value) {
    values_.push_back(&value);
    if (value.is_object()) {
      for (auto& [key, member] : value.items()) {
        keys_.push_back(key);
        collect(member);
      }
    } else if (value.is_array()) {
      for (Json& element : value) collect(element);
    }
  }

  std::size_t below(std::size_t end) { return static_cast<std::size_t>(random_() % end); }
  Json any_value() { return *values_[below(values_.size())]; }

  Json awkward_value() {
    using Limits = std::numeric_limits<double>;
    const Json awkward[] = {nullptr,
                            false,
                            true,
                            "",
                            Json::array(),
                            Json::object(),
                            0,
                            1,
                            -1,
                            0.5,
                            -0.0,
                            1e-9,
                            1e18,
                            1e308,
                            Limits::min(),
                            INT32_MAX,
                            UINT32_MAX,
                            std::uint64_t{1} << 32,
                            std::uint64_t{1} << 53,
                            INT64_MIN,
                            INT64_MAX,
                            UINT64_MAX,
                            Limits::infinity(),
                            Limits::quiet_NaN()};
    return awkward[below(std::size(awkward))];
  }

  void change_as_its_type(Json& value) {
    if (value.is_object() || value.is_array()) {
      below(2) == 0 ? remove_from(value) : add_to(value);
    } else if (value.is_string()) {
      value = text_(value.get<std::string>());
    } else if (value.is_boolean()) {
      value = !value.get<bool>();
    } else if (value.is_number_unsigned()) {
      const auto number = value.get<std::uint64_t>();
      const std::uint64_t near[] = {number + 1, number - 1, number * 2, number / 2, ~number, number + below(256)};
      value = near[below(std::size(near))];
    } else if (value.is_number()) {
      const auto number = value.get<double>();
      const double near[] = {-number, number * 2, number / 2, number * 1e6, number + 1, number - 1};
      value = near[below(std::size(near))];
    } else {
      value = any_value();
    }
  }

  void remove_from(Json& value) {
    if (!value.empty()) value.erase(std::next(value.begin(), static_cast<std::ptrdiff_t>(below(value.size()))));
  }

  void add_to(Json& value) {
    if (value.is_array()) {
      const std::size_t at = below(value.size() + 1);
      Json element = value.empty() || below(2) == 0 ? any_value() : Json(value[below(value.size())]);
      value.insert(std::next(value.begin(), static_cast<std::ptrdiff_t>(at)), std::move(element));
    } else if (!keys_.empty()) {
      Json member = any_value();
      value[keys_[below(keys_.size())]] = std::move(member);
    }
  }

  std::mt19937_64& random_;
  const TextMutation& text_;
  std::vector<Json*> values_;  // of the whole document, root first
  std::vector<std::string> keys_;
};

Json read(std::string_view bytes, Form form) {
  if (form == Form::kJson) return parse_json<Json>(bytes);
  const std::span<const std::uint8_t> cbor(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  check_cbor(cbor);
  return Json::from_cbor(cbor.begin(), cbor.end());
}

std::string written(const Json& document, Form form) {
  // Mutated texts may no longer be UTF-8.
  if (form == Form::kJson) return document.dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::vector<std::uint8_t> cbor = Json::to_cbor(document);
  return {cbor.begin(), cbor.end()};
}

}  // namespace

std::string mutated_document(std::string_view bytes, Form form, std::mt19937_64& random, const TextMutation& text) {
  try {
    Json document = read(bytes, form);
    for (std::uint64_t changes = 1 + random() % 4; changes > 0; --changes) Mutation(document, random, text).change();
    return written(document, form);
  } catch (const Error&) {
    return {};
  } catch (const Json::exception&) {
    return {};
  }
}

}  // namespace gputopo::fuzz
