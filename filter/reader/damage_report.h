// The damage that a read found, and the samples of its output that are lost to it.
#pragma once
#include "base/buffer.h"
#include "reader/lost_areas.h"

namespace stz {

// Whether a failure is about the bytes of a stream, so that another part of it may be whole. Others, such as a lack of memory or a source
// that cannot be read, say nothing of the stream.
bool is_damage(int code);

constexpr u64 no_block = ~u64(0);  // what all blocks of a level need

struct Damage {
  int error = STZ_OK;
  int level = -1;        // of the block, or of what all blocks of it need; -1: of the whole stream
  int patch = -1;        // in which the block is, or -1
  u64 block = no_block;  // its number among those of the level
  // What settle() finds: components that are lost because of it, each because of one damage alone, and the box of requested elements
  // around them: [low, high) along each axis, as indices in the request.
  u64 lost = 0;
  std::array<u64, STZ_MAX_RANK> low{}, high{};
};

// Of one request to one stream.
class DamageReport {
 public:
  DamageReport(const stz_layout& layout, const Request& request);

  bool any() const { return !found_.empty(); }
  const std::vector<Damage>& found() const { return found_; }
  // The number of a damage, a new one or one that was noted before.
  size_t note(int error, int level, u64 block);

  // Everything that a selection has is lost; all of a request.
  void lose(size_t cause, const Selection& selection);
  void lose_all(size_t cause);
  // What a selection, which is the progression `p` on level l, has of an area. `offset`: of the item in the output, in bytes. `margin`:
  // samples that are enhanced, those that are on no coarser level, are lost too where they are at most so far from the area along each
  // axis.
  void lose(const Hierarchy& h, size_t l, const Progression& p, const Selection& selection, u64 offset, const LostArea& area);
  void lose_around(const Hierarchy& h, const Progression& p, const Selection& selection, u64 offset, const LostArea& area,
                   const Index& margin);

  // Takes over what a patch has found in elements [first, first + count) of this request, and puts `elements`, what was read of the patch,
  // over `out`. What a lost sample of the patch would be over is lost.
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

  stz_layout requested_;  // what is read: its shape is that of the request
  const size_t width_;    // of a component
  std::vector<Damage> found_;
  std::vector<u32> marks_;  // of each component of the output: 1 + the number of the damage that it is lost to, or 0; empty: none is
};

}  // namespace stz
