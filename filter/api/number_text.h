// Reads and writes numbers as users write them, independent of the locale.
#pragma once
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>

namespace stz {

// std::from_chars. Some versions of libc++ lack it for floating-point numbers, such as that of WebAssembly; strtod ignores the locale
// there.
template <class Number>
std::from_chars_result read_number(const char* first, const char* last, Number& number) {
#if !defined(__cpp_lib_to_chars)
  if constexpr (std::is_floating_point_v<Number>) {
    const std::string copy(first, last);
    char* stop;
    if (copy.find_first_not_of("+-.0123456789eEinfatyINFATY") != copy.npos) return {first, std::errc::invalid_argument};
    number = static_cast<Number>(strtod(copy.c_str(), &stop));
    if (stop == copy.c_str()) return {first, std::errc::invalid_argument};
    if (std::isinf(number) && copy.find_first_of("iI") == copy.npos) return {last, std::errc::result_out_of_range};
    return {first + (stop - copy.c_str()), std::errc{}};
  } else
#endif
    return std::from_chars(first, last, number);
}

// Parses a number. Returns false unless all of the text is a number that fits the type.
template <class Number>
bool parse_number(std::string_view text, Number& number) {
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  const auto [stop, error] = read_number(text.data(), end, number);
  return error == std::errc{} && stop == end;
}

// The shortest text that is read as this number.
template <class Number>
std::string shortest(Number number) {
  char text[32];
#if !defined(__cpp_lib_to_chars)
  if constexpr (std::is_floating_point_v<Number>) {
    for (int digits = 1; digits <= 17; digits++) {
      snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(number));
      if (static_cast<Number>(strtod(text, nullptr)) == number) break;
    }
    return text;
  } else
#endif
    return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

}  // namespace stz
