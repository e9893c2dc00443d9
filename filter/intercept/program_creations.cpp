#include "intercept/program_creations.h"

#include <exception>
#include <string>

#include "intercept/compressed_creation.h"
#include "intercept/run_stats.h"

namespace stz::intercept {
namespace {

void tell(const std::string& path, const Rule& rule, Outcome outcome) {
  if (!stats_are_wanted()) return;
  const std::string line = "{\"dataset\": " + quoted(path) + ", \"rule\": " + std::to_string(&rule - rules().data()) + ", \"outcome\": \"" +
                           outcome_name(outcome) + "\"}\n";
  append_stats(line.data(), line.size());
}

Outcome create_compressed(const CreateCalls& calls, const CreateArguments& arguments, const Rule& rule, Create create) {
  Properties properties;
  const Outcome outcome = compressed_properties(calls, arguments, rule, properties);
  if (outcome != Outcome::compressed) return outcome;
  const hdf5::SuppressErrors suppressed(*calls.region);
  return create(properties.creation->get(), properties.access->get()) ? Outcome::compressed : Outcome::refused;
}

}  // namespace

bool create_by_rules(const hdf5::Calls* region, const CreateArguments& arguments, Create create) noexcept {
  try {
    CreateCalls calls;
    if (rules_are_empty() || !arguments.name || !find_create_calls(region, calls)) return false;
    Outcome outcome;
    std::string path;
    const Rule* rule = nullptr;
    {
      const hdf5::SuppressErrors suppressed(*calls.region);
      path = path_of(calls, arguments.location, arguments.name);
      if (!path.empty()) rule = rule_for(calls, path, arguments.space, outcome);
    }
    if (!rule) return false;
    if (outcome == Outcome::compressed) outcome = create_compressed(calls, arguments, *rule, create);
    tell(path, *rule, outcome);
    return outcome == Outcome::compressed;
  } catch (const std::exception&) {  // out of memory
    return false;
  }
}

}  // namespace stz::intercept
