// Mutations that know the structure of a document: bytes that change at random are seldom a document still, and what
// reads it stops at its first rule.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <string_view>

namespace gputopo::fuzz {

enum class Form { kJson, kCbor };

// Any other text for a text.
using TextMutation = std::function<std::string(std::string)>;

// The document with one to four of its values changed: another value of the same document, an awkward number, one
// member or element less or more, a member under another's name, another text. Empty if the bytes are no document.
[[nodiscard]] std::string mutated_document(std::string_view bytes, Form form, std::mt19937_64& random,
                                           const TextMutation& text);

}  // namespace gputopo::fuzz
