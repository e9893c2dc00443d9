// The rules of `h5stz run --compress`, in the environment variable H5STZ_COMPRESS: which datasets are compressed, and with which options.
//
// One rule per line, PATTERN=OPTIONS; the first matching rule is used. OPTIONS is text for stz_options_parse_text (docs/cd_values.md) that
// begins with the bound. PATTERN ends at the last "=" that is followed by such text, so it may contain "=" itself.
// PATTERN is the path of a dataset, or an fnmatch(3) pattern without escapes for the whole path, in which `*` also matches slashes. "[x]"
// means these three characters, as in names with units, unless x is one of *?[]. A pattern that was literally the path of one dataset is
// never matched as wildcards afterwards.
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
  std::string glob;  // pattern for fnmatch(3); empty if there are no wildcards
  // whether the pattern was literally the path of a dataset
  std::shared_ptr<std::atomic<bool>> was_path = std::make_shared<std::atomic<bool>>(false);
  stz_options options[3];  // by dtype, starting at STZ_F16: the bits of a fill value depend on it
};

// Parses the rules. Returns none if any line is invalid: a misread rule would do something that was not requested.
std::vector<Rule> parse_rules(std::string_view text);

// The rules of the environment at the first call. They never change and are never freed. Thread-safe.
const std::vector<Rule>& rules();

// Whether there are no rules. Also true if there is no memory to read them.
bool rules_are_empty() noexcept;

// How a rule matches the dataset with this path, which begins with a slash.
enum class Match { none, wildcards, path };
Match match(const Rule& rule, const std::string& path) noexcept;

// Most bytes of the chunk cache of a dataset that is written: H5STZ_COMPRESS_CACHE in MiB, default 256.
unsigned long long cache_bytes() noexcept;

}  // namespace stz::intercept
