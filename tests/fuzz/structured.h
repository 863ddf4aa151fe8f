// Mutations that keep the structure of a document. After random changes of bytes, the input is seldom a document, and
// a reader stops at its first check.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <string_view>

namespace gputopo::fuzz {

enum class Form { kJson, kCbor };

// Replaces a text by another.
using TextMutation = std::function<std::string(std::string)>;

// Changes one to four values of the document: another value of the same document, an awkward number, one member or
// element more or less, a member under another's name, another text. Empty if the bytes are not a document.
[[nodiscard]] std::string mutated_document(std::string_view bytes, Form form, std::mt19937_64& random,
                                           const TextMutation& text);

}  // namespace gputopo::fuzz
