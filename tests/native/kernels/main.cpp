// Checks every kernel of filter/simd, in every instruction set that this machine has, bit for bit against its reference, a plain loop.
//
//   check_kernels [--isa NAME]... [--seed N] [PATTERN]...        checks; status 1 and a line for each kernel that is wrong
//   check_kernels --list                                         instruction sets of this machine, then kernels
//   check_kernels --self-test [--isa NAME]... [PATTERN]...       a mistake in each kernel in turn; status 1 if its check does not notice
//   check_kernels --wrong KERNEL [...]                           checks with a mistake in that kernel
//
// A PATTERN is a part of a kernel's name. The seed is 1 unless told: the same cases on every machine.
#include <cstdio>
#include <cstdlib>

#include "harness.h"

namespace check {
namespace {

// Whether a check passed; prints the failure if it did not.
bool passes(const Kernels& tested, const Entry& entry, u64 seed, bool print) {
  start_kernel(tested.isa, entry.name, seed);
  u64 hash = seed;
  for (const char* c = entry.name; *c; c++) hash = (hash ^ u64(*c)) * 0x100000001b3;  // whatever else is checked
  Random random(hash);
  try {
    with_faults([&] { entry.check(tested, random); });
    return true;
  } catch (const Wrong& failure) {
    if (print) fprintf(stderr, "%s: %s\n", place().c_str(), failure.text.c_str());
    return false;
  }
}

int run(int argc, char** argv) {
  std::vector<const Kernels*> tables;
  std::vector<std::string> patterns;
  u64 seed = 1;
  bool list = false, self_test = false;
  std::string broken;
  for (int i = 1; i < argc; i++) {
    const std::string word = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--isa") {
      if (!kernels_of(value)) return fprintf(stderr, "this machine has no kernels for \"%s\"\n", value), 2;
      tables.push_back(kernels_of(argv[++i]));
    } else if (word == "--seed")
      seed = strtoull(value, nullptr, 10), i++;
    else if (word == "--wrong")
      broken = value, i++;
    else if (word == "--list")
      list = true;
    else if (word == "--self-test")
      self_test = true;
    else if (word[0] == '-')
      return fprintf(stderr, "unknown option %s: see the head of main.cpp\n", word.c_str()), 2;
    else
      patterns.push_back(word);
  }
  if (tables.empty())
    for (const char* isa : {"baseline", "avx2", "avx512"})
      if (const Kernels* k = kernels_of(isa)) tables.push_back(k);

  std::vector<Entry> entries;
  bool is_kernel = broken.empty();
  for (const Entry& entry : all_entries()) {
    is_kernel = is_kernel || entry.name == broken;
    bool wanted = patterns.empty();
    for (const std::string& p : patterns) wanted = wanted || strstr(entry.name, p.c_str());
    if (wanted) entries.push_back(entry);
  }
  if (list) {
    for (const Kernels* k : tables) printf("isa %s\n", k->isa);
    for (const Entry& entry : entries) printf("kernel %s\n", entry.name);
    return 0;
  }
  if (entries.empty() || !is_kernel) return fprintf(stderr, "no kernel has such a name\n"), 2;

  int failures = 0;
  for (const Kernels* k : tables)
    for (const Entry& entry : entries) {
      const Kernels spoilt = with_slot(*k, wrong_kernels(*k), entry.slot);
      if (!self_test)
        failures += !passes(entry.name == broken ? spoilt : *k, entry, seed, true);
      else if ((k->crc32c || strcmp(entry.name, "crc32c") != 0) && passes(spoilt, entry, seed, false)) {
        fprintf(stderr, "%s %s: its check does not notice a mistake\n", k->isa, entry.name);
        failures++;
      }
    }
  for (const Kernels* k : tables) printf("%s%s", k == tables[0] ? "" : ", ", k->isa);
  printf(": %zu kernels, seed %llu: %d %s\n", entries.size(), (unsigned long long)seed, failures,
         self_test ? "mistakes unnoticed" : "failures");
  return failures ? 1 : 0;
}

}  // namespace
}  // namespace check

int main(int argc, char** argv) {
  try {
    return check::run(argc, argv);
  } catch (const check::Wrong& failure) {
    fprintf(stderr, "%s\n", failure.text.c_str());
    return 1;
  }
}
