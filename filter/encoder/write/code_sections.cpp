#include "encoder/write/code_sections.h"

#include "base/faults.h"
#include "encoder/fit/plan_layers.h"
#include "encoder/write/block_check.h"
#include "encoder/write/encode_base_section.h"
#include "encoder/write/encode_level.h"

namespace stz {
namespace {

// The array for the CRCs of blocks. If level 0 is in the base section they are computed here.
template <class S>
std::vector<u32> prepare_checks(const LevelSource<S>& source, const LevelState<S>& state) {
  const Hierarchy& hierarchy = source.hierarchy();
  std::vector<u32> checks(checked_blocks(hierarchy));
  if (hierarchy.base_level > 0) return checks;
  ContentCheck<S> check;
  for (u64 item = 0; item < hierarchy.batch; item++) {
    check_samples<S>(source, item, whole_grid<const S>(state.grid.data() + item * hierarchy.level[0].samples(), hierarchy.level[0]), check);
    checks[item] = check.take();
  }
  return checks;
}

}  // namespace

template <class S>
Sections<Stream> code_sections(const Plan<S>& plan, const SectionForm& form) {
  LevelSource<S> source(plan, form);
  if (!form.edge) source.set_layers(plan_layers(plan, source));
  Sections<Stream> result{source.header(), {}, {}, {}};
  result.learned.offset = form.offset;
  result.learned.level.resize(size_t(source.hierarchy().base_level));
  Header& h = result.header;
  LevelState<S> state;
  Bytes out = encode_base_section(source, state);
  h.section.assign(1, out.size());
  STZ_FAULT_POINT(reconstruction, state.grid.data(), state.grid.size() * sizeof(S));
  if (plan.content_check) result.content_checks = prepare_checks(source, state);
  RefinementSections refinements(h.layers.refinements());
  for (int l = source.hierarchy().base_level - 1; l >= 0; l--) {
    const size_t begin = out.size();
    u32* const checks = l == 0 && plan.content_check ? result.content_checks.data() : nullptr;
    LearnedLevel* const learned = &result.learned.level[size_t(l)];
    if (!encode_level(source, state, size_t(l), form.edge, checks, plan.threads, out, &refinements, learned)) return result;
    h.section.push_back(out.size() - begin);
    if (l == 1 && double(out.size()) > form.most_coarse) return result;
  }
  for (size_t r = 0; r < h.layers.refinements(); r++) {
    out.insert(out.end(), refinements.bytes[r].begin(), refinements.bytes[r].end());
    h.refinement.insert(h.refinement.end(), refinements.sizes[r].begin(), refinements.sizes[r].end());
  }
  result.out.bytes = std::move(out);
  return result;
}

template Sections<Stream> code_sections(const Plan<float>&, const SectionForm&);
template Sections<Stream> code_sections(const Plan<double>&, const SectionForm&);
template Sections<Stream> code_sections(const Plan<i64>&, const SectionForm&);

}  // namespace stz
