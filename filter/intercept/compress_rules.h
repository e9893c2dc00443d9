// Which datasets are to be compressed, and how: the rules of `h5stz run --compress`, which come in the environment variable H5STZ_COMPRESS.
//
// One rule a line, the first that matches counts: PATTERN=OPTIONS. The options are text as stz_options_parse_text reads it
// (docs/cd_values.md) that begins with the bound; the last "=" after which such a text follows ends the pattern, which may have "=" itself.
// A pattern is the path of a dataset, or one of fnmatch(3) without escapes, on the whole path: `*` matches any characters, slashes too.
// "[x]" is those three characters, as in the names of units, unless x is one of *?[]. A rule that was the path of a dataset, letter by
// letter, matches no other one afterwards.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stz_cd_values.h"

namespace stz::intercept {

struct Rule {
  std::string pattern;
  std::string glob;  // what fnmatch(3) is asked; empty if the pattern has no wildcard
  std::shared_ptr<std::atomic<bool>> was_path = std::make_shared<std::atomic<bool>>(false);  // of a dataset, letter by letter
  stz_options options[3];  // by dtype, from STZ_F16 on: a fill value has other bits in each
};

// The rules of a text as above. Empty if any line of it is not one: a rule that was misread would do what nobody asked for.
std::vector<Rule> parse_rules(std::string_view text);

// Those of the environment as it was at the first call; they never change and are never freed. Thread-safe.
const std::vector<Rule>& rules();

// Are there none? Also where there is no memory to read them.
bool rules_are_empty() noexcept;

// How a rule names the dataset at this path, which begins with a slash.
enum class Match { none, wildcards, path };
Match match(const Rule& rule, const std::string& path) noexcept;

// The chunk cache of a dataset that is written, in bytes at most: H5STZ_COMPRESS_CACHE in MiB, or 256.
unsigned long long cache_bytes() noexcept;

}  // namespace stz::intercept
