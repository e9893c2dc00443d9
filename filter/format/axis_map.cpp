#include "format/axis_map.h"

#include <algorithm>

namespace stz {
namespace {

u64 extent_of(const Header& h, int axis) { return h.partial ? h.valid[axis] : h.layout.shape[axis]; }

// The default: the last four axes with more than one element are the codec's, all others are axes of the batch.
std::vector<u8> default_roles(const Header& h) {
  std::vector<u8> roles(size_t(h.layout.rank), batch_role);
  int next = axes;
  for (size_t a = roles.size(); a-- > 0 && next > 0;)
    if (extent_of(h, int(a)) > 1) roles[a] = u8(--next);
  return roles;
}

// The roles of a map, with merged axes resolved. Fails if an axis of the codec is named twice.
std::vector<u8> roles_of(const std::vector<u8>& map) {
  std::vector<u8> roles = map;
  u32 named = 0;
  for (size_t a = roles.size(); a-- > 0;) {
    if (roles[a] == merged_role) {
      require(a + 1 < roles.size(), STZ_ERROR_CORRUPT);
      roles[a] = roles[a + 1];
    } else if (roles[a] != batch_role) {
      require(roles[a] < axes && !(named >> roles[a] & 1), STZ_ERROR_CORRUPT);
      named |= 1u << roles[a];
    }
  }
  return roles;
}

}  // namespace

CodecAxes::CodecAxes(const Header& h) {
  const size_t rank = size_t(h.layout.rank);
  require(h.axis_map.empty() || h.axis_map.size() == rank, STZ_ERROR_CORRUPT);
  const std::vector<u8> roles = h.axis_map.empty() ? default_roles(h) : roles_of(h.axis_map);
  u64 stride = 1;
  for (size_t a = rank; a-- > 0;) {
    const u64 extent = extent_of(h, int(a));
    order.push_back({int(a), roles[a], extent, stride});
    stride *= h.layout.shape[a];
    if (roles[a] == batch_role)
      require(!__builtin_mul_overflow(batch, extent, &batch), STZ_ERROR_CORRUPT);
    else
      require(!__builtin_mul_overflow(n[roles[a]], i64(extent), &n[roles[a]]), STZ_ERROR_CORRUPT);
  }
  std::reverse(order.begin(), order.end());
  auto place = [](const Axis& axis) { return axis.role == batch_role ? -1 : int(axis.role); };
  std::stable_sort(order.begin(), order.end(), [&](const Axis& x, const Axis& y) { return place(x) < place(y); });
  for (size_t a = 0; a + 1 < axes; a++) require(n[a] == 1 || n[a + 1] > 1, STZ_ERROR_CORRUPT);
}

}  // namespace stz
