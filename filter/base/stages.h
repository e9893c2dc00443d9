// A clock for each stage of the codec, compiled in with STZ_STAGES only (benchmarks/stages.py) and nothing otherwise.
//
// STZ_STAGE(name) charges the rest of its scope to a stage, without the time of inner scopes. One thread at a time is measured.
#pragma once

#if defined(STZ_STAGES)
#include <chrono>

namespace stz {

enum class Stage {
  other,
  scan,
  coarsen,
  fit,
  load,
  predict,
  halo,
  activity,
  context,
  partition,
  symbols,
  rans,
  mask,
  store,
  check,
  assemble,
  probe,     // what a few samples tell: axes, edge mode
  collect,   // samples for weights
  weights,   // least squares and choice of weights, medians
  feedback,  // trials of residual feedback
  count_codes,
  models,
  base,  // the base section
  head,  // parameters and index of a section
  count
};
// The names in the order above, separated by commas.
constexpr char stage_names[] =
    "other,scan,coarsen,fit,load,predict,halo,activity,context,partition,symbols,rans,mask,store,check,assemble,probe,collect,weights,"
    "feedback,count_codes,models,base,head";

struct StageClock {
  double seconds[int(Stage::count)] = {};
  Stage current = Stage::other;
  double since = now();

  static double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
  Stage change(Stage to) {
    const double t = now();
    const Stage from = current;
    seconds[int(from)] += t - since;
    since = t;
    current = to;
    return from;
  }
};
inline thread_local StageClock stage_clock;

class StageScope {
 public:
  explicit StageScope(Stage stage) : outer_(stage_clock.change(stage)) {}
  ~StageScope() { stage_clock.change(outer_); }

 private:
  Stage outer_;
};

}  // namespace stz
#define STZ_STAGE(name) const ::stz::StageScope stage_scope(::stz::Stage::name)
#else
#define STZ_STAGE(name) static_cast<void>(0)
#endif
