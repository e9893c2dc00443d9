// The words of client data (docs/cd_values.md), and the records of form 105.
#pragma once
#include "base/common.h"
#include "base/message.h"
#include "stz.h"

namespace stz {

// Positions of the words in the short form and the full forms.
enum Word : size_t {
  word_form,
  word_mode,
  word_bound_low,
  word_bound_high,
  word_packed,
  word_fill_kind,
  word_fill_low,
  word_fill_high,
  word_type,
  word_dims
};

constexpr u64 join(unsigned low, unsigned high) { return u64{high} << 32 | low; }
constexpr unsigned low_word(u64 bits) { return static_cast<unsigned>(bits & 0xffffffffu); }
constexpr unsigned high_word(u64 bits) { return static_cast<unsigned>(bits >> 32); }

// The number of words that the extents take in a full form.
size_t layout_words(const unsigned* values);

// The bits of all options of the table, in two words.
u64 all_packed(const stz_options& options);
// Parses the options whose bits are in the word that begins with bit `from` of these.
int parse_packed(unsigned word, int from, stz_options& options, Message& message);

// Parses the records of form 105, from `word` on: each is a tag, a number of words, and these words.
int parse_records(size_t count, const unsigned* values, size_t word, stz_options& options, Message& message);

}  // namespace stz
