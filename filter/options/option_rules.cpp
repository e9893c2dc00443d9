#include "options/option_rules.h"

#include "base/element_type.h"
#include "base/guard.h"
#include "options/option_table.h"
#include "stz_options.h"

namespace stz {
namespace {

bool is_bound(double number) { return number >= 0 && number < __builtin_inf(); }

}  // namespace

int layer_bound_count(const stz_options& options) {
  constexpr int most = STZ_MAX_LAYERS - 1;
  const double* bounds = options.layer_bounds;
  int count = 0;
  while (count < most && bounds[count] != 0) count++;
  for (int i = 0; i < most; i++) {
    if (i >= count ? bounds[i] != 0 : !(bounds[i] > 0 && bounds[i] < __builtin_inf())) return -1;
    if (i > 0 && i < count && bounds[i] >= bounds[i - 1]) return -1;
  }
  if (count == 0) return 0;
  const bool above = options.mode != STZ_ABSOLUTE || bounds[count - 1] > options.bound;
  return above && (options.layers == 0 || options.layers == count + 1) ? count : -1;
}

int check_rules(const stz_options& o, const stz_layout* layout, Message& message) noexcept {
  const auto broken = [&message](int error, const char* text) {
    message.set("%s", text);
    return error;
  };
  if (o.mode < STZ_LOSSLESS || o.mode > STZ_POINTWISE_RELATIVE) {
    message.set("mode is %d: use 0 lossless, 1 absolute or 2 point-wise relative", o.mode);
    return STZ_ERROR_MODE;
  }
  if (o.mode != STZ_LOSSLESS && !is_bound(o.bound)) {
    message.set("the bound is %g: it must be a finite number that is zero or more", o.bound);
    return STZ_ERROR_BOUND;
  }
  if (!is_bound(o.prior_bound)) {
    message.set("prior_bound is %g: it must be a finite number that is zero or more", o.prior_bound);
    return STZ_ERROR_BOUND;
  }
  if (o.bound_used != 0 && (o.bound_used != 1 || o.mode != STZ_LOSSLESS)) {
    message.set("bound_used is %d: use 0, or 1 with the mode lossless", o.bound_used);
    return STZ_ERROR_OPTION;
  }
  if (has_valid_range(o) && !(o.valid_range[0] < o.valid_range[1])) {
    message.set("valid_range is %g to %g: give the smaller number first; an infinity for no end", o.valid_range[0], o.valid_range[1]);
    return STZ_ERROR_OPTION;
  }
  if (layer_bound_count(o) < 0) return broken(STZ_ERROR_OPTION, rule_for_layer_bounds);
  if ((o.enhance & STZ_ENHANCE_RELAXED) && (o.layers > 1 || o.layer_bounds[0] != 0))
    return broken(STZ_ERROR_OPTION, "enhance=relaxed and enhance=both exclude several layers: use enhance=strict, or one layer");
  if (o.favour == STZ_FAVOUR_SIZE && o.enhance != STZ_ENHANCE_NONE)
    return broken(STZ_ERROR_OPTION, "favour=size takes fewer bytes, enhance a lower mean error: leave one of them out");
  if (!layout) return STZ_OK;
  if (o.append_axis > layout->rank) {
    message.set("append_axis is axis %d, but the axes of the chunk are 0 to %d", o.append_axis - 1, layout->rank - 1);
    return STZ_ERROR_OPTION;
  }
  if (o.mode == STZ_POINTWISE_RELATIVE && o.integers == STZ_INTEGERS_BOUNDED && !is_floating(layout->dtype))
    return broken(STZ_ERROR_MODE, "a point-wise relative bound is only for floating-point types: use an absolute bound for integers");
  return STZ_OK;
}

void require_valid_options(const stz_options& options, const stz_layout& layout) {
  // any number of threads is allowed: it is capped later
  for (const Option& each : option_table)
    require(each.field == &stz_options::threads || each.allows(options.*each.field), STZ_ERROR_OPTION);
  Message unsaid;
  const int error = check_rules(options, &layout, unsaid);
  require(error == STZ_OK, error);
}

}  // namespace stz
