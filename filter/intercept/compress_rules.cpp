// Reads the rules (compress_rules.h). Nothing is assumed of the environment: lists are checked by the filter's own parser.
#include "intercept/compress_rules.h"

#include <fnmatch.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <memory>

#include "base/made_once.h"

namespace stz::intercept {
namespace {

constexpr unsigned long long mebibyte = 1 << 20;
constexpr unsigned long long default_cache = 256, most_cache = 1 << 20;  // MiB

// The text up to the next `separator`, which is taken off `text` with it.
std::string_view next_part(std::string_view& text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return part;
}

template <class Number>
bool parse_number(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end;
}

bool parse_client_data(std::string_view text, ClientData& data, bool& lossless) {
  data.count = 0;
  while (!text.empty()) {
    if (data.count == STZ_CD_MAX_WORDS || !parse_number(next_part(text, ','), data.words[data.count])) return false;
    ++data.count;
  }
  stz_options options = STZ_OPTIONS_INIT;
  if (data.count == 0 || data.words[0] != STZ_CD_FORM_SHORT) return false;
  if (stz_cd_values_parse(data.count, data.words, &options, nullptr, nullptr, 0) != STZ_OK) return false;
  lossless = options.mode == STZ_LOSSLESS;
  return true;
}

bool parse_rule(std::string_view line, Rule& rule) {
  std::string_view lists = next_part(line, ' ');
  if (line.empty() || line.front() != '/') return false;
  rule.pattern = line;
  rule.exact = line.find_first_of("*?[") == line.npos;
  for (ClientData& data : rule.data)
    if (!parse_client_data(next_part(lists, ';'), data, rule.lossless)) return false;
  return lists.empty();
}

}  // namespace

std::vector<Rule> parse_rules(std::string_view text) {
  std::vector<Rule> rules;
  while (!text.empty()) {
    Rule rule;
    if (!parse_rule(next_part(text, '\n'), rule)) return {};
    rules.push_back(rule);
  }
  return rules;
}

const std::vector<Rule>& rules() {
  static std::atomic<const std::vector<Rule>*> parsed;
  return made_once(parsed, [] {
    const char* const text = getenv("H5STZ_COMPRESS");
    return std::make_unique<const std::vector<Rule>>(parse_rules(text ? text : ""));
  });
}

bool rules_are_empty() noexcept {
  try {
    return rules().empty();
  } catch (const std::exception&) {
    return true;
  }
}

bool matches(const Rule& rule, const std::string& path) noexcept {
  return rule.exact ? rule.pattern == path : fnmatch(rule.pattern.c_str(), path.c_str(), FNM_NOESCAPE) == 0;
}

unsigned long long cache_bytes() noexcept {
  const char* const text = getenv("H5STZ_COMPRESS_CACHE");
  unsigned long long number = 0;
  const bool valid = text && parse_number(std::string_view(text), number) && number >= 1 && number <= most_cache;
  return (valid ? number : default_cache) * mebibyte;
}

}  // namespace stz::intercept
