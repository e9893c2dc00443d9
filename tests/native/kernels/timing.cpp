#include "timing.h"

#include <chrono>
#include <cstdio>

namespace check {
namespace {

constexpr int runs = 7;
constexpr double least_seconds = 1e-3;  // of a run

double seconds_of(const Timed& timed, const Kernels& k, u64 calls) {
  const auto start = std::chrono::steady_clock::now();
  for (u64 c = 0; c < calls; c++) timed.call(k);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Nanoseconds per element of each table.
std::vector<double> measured(const Timed& timed, const std::vector<const Kernels*>& tables) {
  std::vector<u64> calls;
  for (const Kernels* k : tables) {
    u64 n = 1;
    while (seconds_of(timed, *k, n) < least_seconds) n *= 2;
    calls.push_back(n);
  }
  std::vector<std::vector<double>> times(tables.size());
  for (int run = 0; run < runs; run++)
    for (size_t t = 0; t < tables.size(); t++) times[t].push_back(seconds_of(timed, *tables[t], calls[t]) / double(calls[t]));
  std::vector<double> medians;
  for (std::vector<double>& t : times) {
    std::nth_element(t.begin(), t.begin() + runs / 2, t.end());
    medians.push_back(t[runs / 2] * 1e9 / timed.elements);
  }
  return medians;
}

}  // namespace

void time_kernels(const std::vector<const Kernels*>& tables, const std::vector<Entry>& entries, bool json) {
  std::vector<const Kernels*> all = {&reference};
  all.insert(all.end(), tables.begin(), tables.end());
  if (json)
    printf("[");
  else {
    printf("%-44s", "ns per element");
    for (const Kernels* k : all) printf("%10s", k->isa);
    printf("\n");
  }
  const char* separator = "\n";
  for (const Entry& entry : entries) {
    if (!entry.timings) continue;
    std::vector<Timed> timings;
    entry.timings(timings);
    for (const Timed& timed : timings) {
      const std::vector<double> ns = measured(timed, all);
      if (json)
        printf("%s{\"kernel\": \"%s\", \"case\": \"%s\", \"elements\": %.0f, \"ns_per_element\": {", separator, entry.name,
               timed.name.c_str(), timed.elements);
      else
        printf("%-44s", (std::string(entry.name) + (timed.name.empty() ? "" : ", " + timed.name)).c_str());
      for (size_t t = 0; t < all.size(); t++) {
        const bool there = all[t]->crc32c || strcmp(entry.name, "crc32c") != 0;  // the only kernel that may be missing
        if (json && there)
          printf("%s\"%s\": %.4f", t ? ", " : "", all[t]->isa, ns[t]);
        else if (!json)
          there ? printf("%10.3f", ns[t]) : printf("%10s", "-");
      }
      printf(json ? "}}" : "\n");
      separator = ",\n";
      fflush(stdout);
    }
  }
  if (json) printf("\n]\n");
}

}  // namespace check
