// The damage that a read found, and the output samples that are lost to it.
#pragma once
#include "base/buffer.h"
#include "reader/lost_areas.h"

namespace stz {

// Whether an error code means damaged bytes, so that other parts of the stream may be intact. Other failures, such as lack of memory or an
// unreadable source, say nothing about the stream.
bool is_damage(int code);

constexpr u64 no_block = ~u64(0);  // the damage is to something that all blocks of a level need

struct Damage {
  int error = STZ_OK;
  int level = -1;        // level of the block, or of what all its blocks need; -1: the whole stream is damaged
  int patch = -1;        // the patch that has the block, or -1
  u64 block = no_block;  // number of the block on its level
  // Set by settle(): the number of components lost to this damage (each component counts for one damage only), and the bounding box [low,
  // high) of their elements, as indices in the request.
  u64 lost = 0;
  std::array<u64, STZ_MAX_RANK> low{}, high{};
};

// Damage found by one request to one stream.
class DamageReport {
 public:
  DamageReport(const stz_layout& layout, const Request& request);

  bool any() const { return !found_.empty(); }
  const std::vector<Damage>& found() const { return found_; }
  // Returns the number of a damage: a new one, or that of an equal damage noted before.
  size_t note(int error, int level, u64 block);

  // Marks everything in a selection as lost, or everything in the request.
  void lose(size_t cause, const Selection& selection);
  void lose_all(size_t cause);
  // Marks elements of the output, which follow one another from `first` on.
  void lose_elements(size_t cause, u64 first, u64 count);
  // Marks the part of an area that a selection has. The selection is the progression `p` on level l; `offset` is the offset of the item in
  // the output, in bytes.
  // lose_around() is for enhanced samples: those of level 0 that are on no coarser level are also lost if they are within `margin` samples
  // of the area along each axis.
  void lose(const Hierarchy& h, size_t l, const Progression& p, const Selection& selection, u64 offset, const LostArea& area);
  void lose_around(const Hierarchy& h, const Progression& p, const Selection& selection, u64 offset, const LostArea& area,
                   const Index& margin);

  // Adds the damage that a patch's read found, and lays `elements`, the samples read from the patch, over `out`. They are elements [first,
  // first + count) of this request. Output samples that a lost sample of the patch would replace are lost.
  void lay_over(const DamageReport& of_patch, int number, const u64* first, const u64* count, const Patch& patch, const u8* elements,
                u8* out);

  // Fills the lost components of the output with those of `element`, and counts them.
  void settle(const u8* element, u8* out);

 private:
  std::vector<u32>& marks();
  void mark(u64 offset, size_t cause) {
    u32& m = marks_[size_t(offset / width_)];
    if (!m) m = u32(cause + 1);
  }
  template <class IsLost>
  void mark_box(const Index& low, const Index& high, const Progression& p, const Selection& selection, u64 offset, size_t cause,
                IsLost is_lost);

  stz_layout requested_;  // the array that is read, with the shape of the request
  const size_t width_;    // bytes of a component
  std::vector<Damage> found_;
  // For each component of the output: 1 + the number of the damage it is lost to, or 0. Empty if nothing is lost.
  std::vector<u32> marks_;
};

}  // namespace stz
