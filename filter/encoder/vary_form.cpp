#include "encoder/vary_form.h"

#include <algorithm>

#include "base/stages.h"
#include "encoder/plan/effort.h"
#include "encoder/write/code_sections.h"

namespace stz {
namespace {

constexpr double steeper_ratio = 0.9;
constexpr int most_larger = 2;  // blocks of up to 2^2 times the extents

// With their header, which holds the bounds of levels and the extents of blocks.
template <class Out>
double size_with_header(const Sections<Out>& sections) {
  return sections.size() + double(write_header(sections.header).size());
}

template <class Out, class S>
class Variations {
 public:
  Variations(const Plan<S>& plan, Sections<Out>& best) : plan_(plan), best_(best), size_(size_with_header(best)) {
    form_.offset = best.header.offset;
    form_.edge = best.learned.edge;
  }

  // Other bounds of levels. `wide`: some more of them.
  void try_level_ratios(bool wide) {
    if (plan_.level_ratio != default_level_ratio) {
      try_ratio(default_level_ratio);
      return;
    }
    const bool slower = try_ratio(slow_level_ratio);
    if (wide) try_ratio(slower ? equal_levels : steeper_ratio);
  }

  void try_larger_blocks() {
    const Hierarchy hierarchy = hierarchy_of(best_.header);
    for (int larger = 1; larger <= most_larger && can_grow(hierarchy, larger); larger++) {
      SectionForm form = form_;
      form.larger_blocks = larger;
      if (!keep_if_smaller(form)) break;
    }
  }

  // Fits on other samples, which happen to be better now and then.
  void try_effort(int effort) {
    SectionForm form = form_;
    form.effort = effort;
    keep_if_smaller(form);
  }

 private:
  bool try_ratio(double ratio) {
    SectionForm form = form_;
    form.level_ratio = ratio;
    return keep_if_smaller(form);
  }

  // Whether larger blocks are possible and differ from the present ones.
  bool can_grow(const Hierarchy& hierarchy, int larger) const {
    bool differ = false;
    for (int l = 0; l < hierarchy.base_level; l++) {
      const Level& level = hierarchy.level[size_t(l)];
      const std::array<int, axes> extents = larger_block(level, default_block(level, l, plan_.header.block), larger);
      if (!block_fits(level, extents)) return false;
      for (size_t a = 0; a < axes; a++) differ |= level.block[a] < level.n[a];
    }
    return differ;
  }

  bool keep_if_smaller(const SectionForm& form) {
    Sections<Out> sections = sections_of<Out>(plan_, form);
    if (sections.empty()) return false;
    const double size = size_with_header(sections);
    if (size >= size_) return false;
    sections.learned.edge = form.edge;
    best_ = std::move(sections);
    size_ = size;
    form_ = form;
    return true;
  }

  const Plan<S>& plan_;
  Sections<Out>& best_;
  double size_;
  SectionForm form_;
};

}  // namespace

template <class Out, class S>
void try_variations(const Plan<S>& plan, Sections<Out>& sections) {
  STZ_STAGE(fit);
  if (sections.empty()) return;
  const Effort& effort = effort_of(plan.effort);
  const bool preferred = plan.level_ratio == slow_level_ratio;  // where the default series is smaller, it is kept
  const bool bounds = plan.takes_level_bounds() && ((effort.level_ratio_trials && plan.favour != STZ_FAVOUR_QUALITY) || preferred);
  if (!bounds && !effort.form_trials) return;
  Variations<Out, S> variations(plan, sections);
  if (bounds) variations.try_level_ratios(effort.form_trials);
  if (!effort.form_trials) return;
  if (plan.header.block == STZ_BLOCK_DEFAULT) variations.try_larger_blocks();
  variations.try_effort(default_effort);
}

#define STZ_INSTANTIATE(S)                                         \
  template void try_variations(const Plan<S>&, Sections<Stream>&); \
  template void try_variations(const Plan<S>&, Sections<SizeEstimate>&);
STZ_INSTANTIATE(float)
STZ_INSTANTIATE(double)
STZ_INSTANTIATE(i64)
#undef STZ_INSTANTIATE

}  // namespace stz
