// Which kernels a machine gets, for machines that lack one feature or another of those that kernels are compiled for. Nothing is run of the
// kernels themselves. Arguments are lines of instruction_sets.txt, in quotes: "avx2 -mavx2 -mbmi ...".
#include <cstdio>
#include <cstdlib>
#include <string>

#include "simd/kernels.h"

using namespace stz;

namespace {

void check(bool good, const std::string& what) {
  if (good) return;
  std::fprintf(stderr, "dispatch: %s\n", what.c_str());
  std::exit(1);
}

struct Named {
  const char* name;
  CpuFeatures bit;
};
constexpr Named features[] = {
#define STZ_NAMED(name, macro, question) {#name, feature_bit(CpuFeature::name)},
    STZ_CPU_FEATURES(STZ_NAMED)
#undef STZ_NAMED
        {"", 0},
};
constexpr CpuFeatures everything = ~CpuFeatures{0};

// What the kernels of an instruction set turn out to need, one feature at a time.
CpuFeatures needed(const char* isa) {
  CpuFeatures result = 0;
  for (const Named& feature : features)
    if (feature.bit && !kernels_of(isa, everything & ~feature.bit)) result |= feature.bit;
  return result;
}

std::string chosen(CpuFeatures of_machine) { return choose_kernels(nullptr, of_machine).isa; }

// Every flag that the kernels are compiled with is a feature that they are not run without.
void check_flags(const std::string& line) {
  const std::string isa = line.substr(0, line.find(' '));
  for (size_t at = line.find(" -m"); at != std::string::npos; at = line.find(" -m", at + 1)) {
    std::string flag = line.substr(at + 3, line.find(' ', at + 1) - at - 3);
    for (char& letter : flag) letter = letter == '.' ? '_' : letter;
    bool is_listed = false;
    for (const Named& feature : features)
      if (flag == feature.name) {
        is_listed = true;
        check(needed(isa.c_str()) & feature.bit, isa + " is run without " + flag);
      }
    check(is_listed, "cpu_features.h does not list " + flag);
  }
}

}  // namespace

int main(int argc, char** argv) {
  check(chosen(0) == "baseline", "a machine without any feature gets the baseline");
  check(choose_kernels("no such thing", everything).isa == chosen(0), "an unknown name gets the baseline");
  check(kernels_of("baseline", 0) != nullptr, "the baseline needs nothing");
#if defined(STZ_X86)
  check(chosen(everything) == "avx512", "a machine with everything gets the widest");
  const CpuFeatures avx2 = needed("avx2"), avx512 = needed("avx512");
  check(avx2 && (avx512 & avx2) == avx2 && avx512 != avx2, "wider kernels need more");
  for (const Named& feature : features) {
    if (!feature.bit) continue;
    const std::string expected = avx2 & feature.bit ? "baseline" : avx512 & feature.bit ? "avx2" : "avx512";
    check(chosen(everything & ~feature.bit) == expected, std::string("without ") + feature.name + ": not " + expected);
    check(chosen(feature.bit) == "baseline", std::string(feature.name) + " alone is not enough");
  }
  for (const CpuFeature feature : {CpuFeature::lzcnt, CpuFeature::popcnt, CpuFeature::bmi})
    check(!kernels_of("avx2", everything & ~(CpuFeatures{1} << int(feature))), "features of bit instructions are asked for");
  check(choose_kernels("avx512", avx2).isa == chosen(0), "kernels that were named but cannot run: the baseline");
  for (const Named& feature : features)
    if (cpu_features() & feature.bit) std::printf("%s ", feature.name);
  std::printf("\n");
#endif
  for (int line = 1; line < argc; line++) check_flags(argv[line]);
}
