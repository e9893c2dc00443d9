// H5Dcreate for programs that know nothing of compression: datasets that a rule of H5STZ_COMPRESS names are created with the filter.
//
// The functions here take the place of H5Dcreate1 and H5Dcreate2 in every object of the process. What no rule names, and what cannot be
// compressed or should not be (compressed_creation.h), is created by the call as it was made, and so is everything where something fails.
// State: the rules, which never change. What became of each dataset that a rule names goes to the file of H5STZ_RUN_STATS at once.
#include <exception>
#include <string>

#include "compressed_creation.h"
#include "run_stats.h"
#include "stz_h5.h"

namespace stz::preload {
namespace {

void tell(const std::string& path, const Rule& rule, Outcome outcome) {
  if (!stats_are_wanted()) return;
  const std::string line = "{\"dataset\": " + quoted(path) + ", \"rule\": " + std::to_string(&rule - rules().data()) + ", \"outcome\": \"" +
                           outcome_name(outcome) + "\"}\n";
  append_stats(line.data(), line.size());
}

// True if the dataset has been created; else nothing has happened.
bool created(const void* caller, const CreateArguments& arguments, Id& dataset) noexcept {
  try {
    CreateCalls calls;
    if (rules_are_empty() || !arguments.name || !find_create_calls(caller, calls)) return false;
    Outcome outcome;
    std::string path;
    const Rule* rule = nullptr;
    {
      const region::Quiet quiet(*calls.region);
      path = path_of(calls, arguments.location, arguments.name);
      if (!path.empty()) rule = rule_for(calls, path, arguments.space, outcome);
    }
    if (!rule) return false;
    if (outcome == Outcome::kCompressed) outcome = create_compressed(calls, arguments, *rule, dataset);
    tell(path, *rule, outcome);
    return outcome == Outcome::kCompressed;
  } catch (const std::exception&) {  // memory
    return false;
  }
}

}  // namespace
}  // namespace stz::preload

extern "C" __attribute__((visibility("default"))) hid_t H5Dcreate2(hid_t loc, const char* name, hid_t type, hid_t space, hid_t lcpl,
                                                                   hid_t dcpl, hid_t dapl) {
  using namespace stz::preload;
  const void* const caller = __builtin_return_address(0);
  Id dataset = -1;
  if (created(caller, {loc, name, type, space, lcpl, dcpl, dapl}, dataset)) return dataset;
  const auto original = reinterpret_cast<Create2>(original_function(caller, "H5Dcreate2"));
  return original ? original(loc, name, type, space, lcpl, dcpl, dapl) : -1;
}

extern "C" __attribute__((visibility("default"))) hid_t H5Dcreate1(hid_t loc, const char* name, hid_t type, hid_t space, hid_t dcpl) {
  using namespace stz::preload;
  const void* const caller = __builtin_return_address(0);
  Id dataset = -1;
  if (created(caller, {loc, name, type, space, stz::region::kDefaultProperties, dcpl, stz::region::kDefaultProperties}, dataset))
    return dataset;
  const auto original = reinterpret_cast<Create1>(original_function(caller, "H5Dcreate1"));
  return original ? original(loc, name, type, space, dcpl) : -1;
}
