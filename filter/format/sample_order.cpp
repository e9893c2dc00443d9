#include "format/sample_order.h"

namespace stz {

SampleOrder::SampleOrder(const Header& h) {
  const CodecAxes codec_axes(h);
  loops_.push_back({1, 1, 1});
  u64 step = 1;
  for (size_t k = codec_axes.order.size(); k-- > 0;) {
    const CodecAxes::Axis& axis = codec_axes.order[k];
    if (axis.extent == 1) continue;
    Loop& faster = loops_.front();
    if (faster.extent == 1)
      faster = {axis.extent, axis.stride, step};
    else if (axis.stride == faster.extent * faster.stride)
      faster.extent *= axis.extent;
    else
      loops_.insert(loops_.begin(), {axis.extent, axis.stride, step});
    step *= axis.extent;
  }
}

u64 SampleOrder::element_of(u64 number) const {
  u64 element = 0;
  for (const Loop& loop : loops_) element += number / loop.step % loop.extent * loop.stride;
  return element;
}

}  // namespace stz
