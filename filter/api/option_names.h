// The words of options as text: which are known, which mean the same, and which a misspelt one probably means.
#pragma once
#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "base/common.h"
#include "options/option_table.h"

namespace stz {

// The keys that are no rows of the table of options.
inline constexpr std::string_view other_keys[] = {"absolute", "pointwise_relative", "lossless",   "fill_value",
                                                  "dtype",    "layer_bounds",       "valid_range"};
// The bounds that depend on the data, which text cannot give.
inline constexpr std::string_view measured_keys[] = {"relative", "psnr", "ratio"};

inline constexpr std::string_view yes_words[] = {"yes", "true", "True", "on", "1"};
inline constexpr std::string_view no_words[] = {"no", "false", "False", "off", "0"};

template <size_t n>
bool is_among(const std::string_view (&words)[n], std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

inline bool is_measured(std::string_view key) { return is_among(measured_keys, key); }
inline bool is_yes(std::string_view word) { return is_among(yes_words, word); }

// The word that the table has for a value: "yes" for "true", "on" and so on, if the option is one of yes and no.
inline std::string_view plain_word(const Option& option, std::string_view word) {
  if (option.value_of("yes") < 0) return word;
  return is_yes(word) ? "yes" : is_among(no_words, word) ? "no" : word;
}

// "a, b or c" for the words of an option, "an integer from 1 to 9" for a count.
inline std::string choices(const Option& option) {
  if (!option.is_word()) return "an integer from " + std::to_string(option.least) + " to " + std::to_string(option.most);
  std::string text;
  for (i32 value = 0; value <= option.most; ++value) {
    const std::string_view word = option.word_of(value);
    if (word.empty()) continue;
    if (!text.empty()) text += value == option.most ? " or " : ", ";
    text += word;
  }
  return text;
}

inline std::vector<std::string_view> all_keys() {
  std::vector<std::string_view> keys(std::begin(other_keys), std::end(other_keys));
  for (const Option& each : option_table) keys.push_back(each.name);
  return keys;
}

// How many letters have to be put in, left out or replaced.
inline size_t edits_between(std::string_view from, std::string_view to) {
  std::vector<size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < from.size(); i++) {
    size_t before = row[0]++;
    for (size_t j = 0; j < to.size(); j++) {
      const size_t replaced = before + (from[i] != to[j]);
      before = row[j + 1];
      row[j + 1] = std::min({replaced, before + 1, row[j] + 1});
    }
  }
  return row[to.size()];
}

// The key that a misspelt or abbreviated one probably means; empty if there is none.
inline std::string_view nearest_key(std::string_view given) {
  constexpr size_t longest = 32;
  if (given.size() < 2 || given.size() > longest) return {};
  std::string word(given);
  for (char& letter : word)
    if (letter >= 'A' && letter <= 'Z') letter += 'a' - 'A';
  std::vector<std::string_view> keys = all_keys();
  keys.insert(keys.end(), std::begin(measured_keys), std::end(measured_keys));
  const auto begun = std::find_if(keys.begin(), keys.end(), [&](std::string_view key) { return key.starts_with(word); });
  if (begun != keys.end()) return *begun;
  const auto nearest = std::min_element(keys.begin(), keys.end(),
                                        [&](auto one, auto other) { return edits_between(word, one) < edits_between(word, other); });
  return edits_between(word, *nearest) <= std::max<size_t>(1, word.size() / 3) ? *nearest : std::string_view();
}

}  // namespace stz
