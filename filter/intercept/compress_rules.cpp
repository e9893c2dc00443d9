// The environment is not trusted: options are parsed by the C API.
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

// Removes and returns the text before the next `separator`, which is removed too.
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

bool begins_with_bound(std::string_view text) {
  for (const std::string_view bound : {"absolute", "pointwise_relative", "lossless"}) {
    if (!text.starts_with(bound)) continue;
    const std::string_view rest = text.substr(bound.size());
    if (rest.empty() || rest.front() == '=' || rest.front() == ':' || rest.front() == ',') return true;
  }
  return false;
}

bool parse_options(const std::string& text, int32_t dtype, stz_options& options) {
  options = STZ_OPTIONS_INIT;
  return stz_options_parse_text(text.c_str(), &dtype, &options, nullptr, 0) == STZ_OK;
}

// A fill value that does not fit in a smaller type cannot occur in arrays of that type, so it is left out there.
bool parse_options_of_types(const std::string& text, Rule& rule) {
  stz_options& widest = rule.options[STZ_F64 - STZ_F16];
  if (!parse_options(text, STZ_F64, widest)) return false;
  for (int32_t dtype = STZ_F16; dtype < STZ_F64; ++dtype) {
    stz_options& options = rule.options[dtype - STZ_F16];
    if (parse_options(text, dtype, options)) continue;
    options = widest;
    options.has_fill = 0;
    options.fill = 0;
  }
  return true;
}

// A pattern for fnmatch in which "[x]" stands for three characters; empty if there are no wildcards.
std::string glob_of(std::string_view pattern) {
  constexpr std::string_view special = "*?[]";
  std::string glob;
  bool wild = false;
  for (size_t at = 0; at < pattern.size(); ++at) {
    const bool is_text =
        pattern[at] == '[' && at + 2 < pattern.size() && pattern[at + 2] == ']' && special.find(pattern[at + 1]) == special.npos;
    wild = wild || (!is_text && special.substr(0, 3).find(pattern[at]) != special.npos);
    glob += is_text ? "[[]" : std::string_view(pattern).substr(at, 1);
  }
  return wild ? glob : std::string();
}

bool parse_rule(std::string_view line, Rule& rule) {
  if (line.empty() || line.front() != '/') return false;
  size_t end = line.rfind('=');
  while (end != line.npos && !begins_with_bound(line.substr(end + 1))) end = line.rfind('=', end - 1);
  if (end == line.npos) return false;
  rule.pattern = line.substr(0, end);
  rule.glob = glob_of(rule.pattern);
  return parse_options_of_types(std::string(line.substr(end + 1)), rule);
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

Match match(const Rule& rule, const std::string& path) noexcept {
  if (rule.pattern == path) {
    rule.was_path->store(true, std::memory_order_relaxed);
    return Match::path;
  }
  if (rule.glob.empty() || rule.was_path->load(std::memory_order_relaxed)) return Match::none;
  return fnmatch(rule.glob.c_str(), path.c_str(), FNM_NOESCAPE) == 0 ? Match::wildcards : Match::none;
}

unsigned long long cache_bytes() noexcept {
  const char* const text = getenv("H5STZ_COMPRESS_CACHE");
  unsigned long long number = 0;
  const bool valid = text && parse_number(std::string_view(text), number) && number >= 1 && number <= most_cache;
  return (valid ? number : default_cache) * mebibyte;
}

}  // namespace stz::intercept
