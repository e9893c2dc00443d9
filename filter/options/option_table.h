// The rows of stz_options.h as C++ objects. Options are parsed, printed, packed and checked with them.
#pragma once
#include <string_view>

#include "base/common.h"
#include "stz.h"
#include "stz_options.h"

namespace stz {

struct Option {
  std::string_view name;
  i32 stz_options::*field;
  int first_bit, bits;      // position in the two words of packed options
  i32 least, most, offset;  // users give least to most; the field has that number + offset
  bool changes_samples;
  std::string_view words;  // names of the values 0, 1, ..., separated by bars; empty: the option is a count

  constexpr bool is_word() const { return !words.empty(); }
  constexpr i32 largest() const { return most + offset; }  // largest value of the field
  bool allows(i32 value) const { return value >= 0 && value <= largest(); }

  constexpr unsigned mask() const { return (1u << bits) - 1; }
  i32 unpacked(u64 both_words) const { return i32(both_words >> first_bit & mask()); }
  u64 packed(i32 value) const { return u64(unsigned(value)) << first_bit; }

  // The name of a value; empty if it has none.
  constexpr std::string_view word_of(i32 value) const {
    std::string_view rest = words;
    for (; value > 0; --value) {
      const size_t bar = rest.find('|');
      if (bar == rest.npos) return {};
      rest.remove_prefix(bar + 1);
    }
    return rest.substr(0, rest.find('|'));
  }
  // The value with this name; -1 if there is none.
  i32 value_of(std::string_view word) const {
    for (i32 value = 0; !word.empty() && value <= most; ++value)
      if (word_of(value) == word) return value;
    return -1;
  }
};

#define STZ_OPTION(name, first_bit, bits, least, most, offset, changes_samples, words) \
  Option{#name, &stz_options::name, first_bit, bits, least, most, offset, changes_samples != 0, words},
inline constexpr Option option_table[] = {STZ_OPTIONS(STZ_OPTION)};
#undef STZ_OPTION

// Checks that rows have disjoint bits, that these hold the largest value, and that words name exactly the values up to it.
constexpr bool is_sound(const Option* rows, int count) {
  u64 taken = 0;
  for (int i = 0; i < count; ++i) {
    const Option& row = rows[i];
    const u64 bits = u64{row.mask()} << row.first_bit;
    if (row.first_bit < 32 && row.first_bit + row.bits > 32) return false;
    if (bits & taken || row.largest() < 1 || unsigned(row.largest()) > row.mask()) return false;
    if (row.is_word() && (row.word_of(row.most).empty() || !row.word_of(row.most + 1).empty())) return false;
    taken |= bits;
  }
  return true;
}
static_assert(is_sound(option_table, sizeof option_table / sizeof *option_table), "stz_options.h has a row that client data cannot hold");

}  // namespace stz
