#include "reader/stream_sections.h"

#include <algorithm>

#include "format/palette.h"
#include "reader/damage_report.h"

namespace stz {
namespace {

constexpr u64 first_peek = 1024;  // bytes of a section to fetch first, to see how long its directory is

}  // namespace

template <class S>
StreamSections<S>::StreamSections(Header& header, SourcePart& source)
    : header_(header),
      source_(source),
      hierarchy_(hierarchy_of(header)),
      quantizer_(level_quantizers<S>(header, hierarchy_.level.size())),
      finest_directory_(base_level()),
      directory_(base_level()),
      reach_(base_level()) {
  require(source.size() <= stream_bytes(header), STZ_ERROR_CORRUPT);  // truncated is allowed: only what is read must exist
  u64 offset = sections_offset(header);
  for (u64 n : header.section) {
    section_.push_back({offset, n});
    offset += n;
  }
  taken_ = header.layers.refinements();
  refined_.resize(taken_);
  for (Refinement& r : refined_) {
    r.section.resize(base_level());
    r.directory.resize(base_level());
    r.finest = base_level();
  }
  size_t next = 0;
  for_refinements(header.layers, [&](size_t r, size_t l) {
    refined_[r].section[l] = {offset, header.refinement[next]};
    offset += header.refinement[next++];
  });
}

template <class S>
u64 StreamSections<S>::block_count_of_all_levels() const {
  u64 blocks = 0;
  for (size_t l = 0; l < base_level(); l++) blocks += block_count(hierarchy_.level[l]) * hierarchy_.batch;
  return blocks;
}

template <class S>
u64 StreamSections<S>::bytes() const {
  u64 size =
      base_.samples.size() * sizeof(S) + base_.activities.size() + base_.specials.size() + base_literals_.size() * sizeof(LiteralElement);
  auto add = [&](const Directories& of_levels) {
    for (const auto& d : of_levels)
      if (d) size += sizeof(LevelDirectory) + (d->sizes.size() + d->offsets.size()) * sizeof(u64);
  };
  add(directory_);
  for (const Refinement& r : refined_) add(r.directory);
  if (header_.palette) size += header_.palette->size() * sizeof(u64);
  return size;
}

template <class S>
void StreamSections<S>::read_directories(size_t l) {
  read_coarsest();
  read_level_directories(l);
  for (size_t r = 0; r < taken_; r++) read_refined_directories(r, l);
}

template <class S>
size_t StreamSections<S>::read_whole_directories(size_t l, int& code) {
  read_coarsest();
  auto read = [&](const size_t& finest, auto read_down_to) {
    try {
      read_down_to(l);
    } catch (const Failure& failure) {
      if (!is_damage(failure.code)) throw;
      code = failure.code;
      l = finest;
    }
  };
  code = STZ_OK;
  read(finest_directory_, [&](size_t down_to) { read_level_directories(down_to); });
  for (size_t r = 0; r < taken_; r++) read(refined_[r].finest, [&](size_t down_to) { read_refined_directories(r, down_to); });
  return l;
}

template <class S>
void StreamSections<S>::read_coarsest() {
  if (header_.transform == Transform::palette && !header_.palette) read_palette();
  if (base_.samples.empty()) read_base_section();
}

template <class S>
void StreamSections<S>::read_level_directories(size_t l) {
  while (finest_directory_ > l) {
    read_level_directory(finest_directory_ - 1);
    finest_directory_--;
  }
}

template <class S>
void StreamSections<S>::read_refined_directories(size_t r, size_t l) {
  for (size_t& finest = refined_[r].finest; finest > l; finest--) {
    const size_t at = finest - 1;
    if (!header_.layers.added_bits(r, at)) continue;
    read_directory_of(refined_[r].section[at], refined_[r].directory[at], [&](const LevelSection& section, LevelDirectory& d) {
      return read_refined_directory(header_, hierarchy_, at, r, *directory_[at], section, state_, d);
    });
  }
}

template <class S>
void StreamSections<S>::read_palette() {
  require(source_.present(header_.size, header_.palette_size) == header_.palette_size, STZ_ERROR_TRUNCATED);
  Buffer<u8> bytes(size_t(header_.palette_size));
  source_.peek(header_.size, header_.palette_size, bytes.data());
  stz::read_palette(header_, bytes.data());
}

template <class S>
void StreamSections<S>::read_base_section() {
  const ByteRange range = section(base_level());
  require(source_.present(range.offset, range.size) == range.size, STZ_ERROR_TRUNCATED);
  Buffer<u8> bytes(size_t(range.size));
  source_.peek(range.offset, range.size, bytes.data());  // kept: a reader may be closed and opened again
  base_ = decode_base_section(header_, hierarchy_, quantizer_, bytes.data(), size_t(range.size), state_, base_literals_);
  sort_literals(base_literals_);
}

// Fetches as much of a section as read(section, directory) needs. `read` returns the number of bytes that it needs, or 0 when it is done.
template <class S>
template <class Read>
void StreamSections<S>::read_directory_of(const ByteRange& range, std::unique_ptr<const LevelDirectory>& directory, Read read) {
  const u64 present = source_.present(range.offset, range.size);
  Bytes bytes(size_t(std::min(first_peek, present)));
  source_.peek(range.offset, bytes.size(), bytes.data());
  auto made = std::make_unique<LevelDirectory>();
  while (const u64 needed = read(LevelSection{bytes.data(), bytes.size(), present, range.size}, *made)) {
    const size_t have = bytes.size();
    require(needed <= present, STZ_ERROR_TRUNCATED);
    bytes.resize(size_t(needed));
    source_.peek(range.offset + have, needed - have, bytes.data() + have);
  }
  directory = std::move(made);
}

template <class S>
void StreamSections<S>::read_level_directory(size_t l) {
  read_directory_of(section(l), directory_[l], [&](const LevelSection& of_level, LevelDirectory& d) {
    return read_directory(header_, hierarchy_, l, of_level, state_, d);
  });
  reach_[l] = {directory_[l]->reach, directory_[l]->edge};
}

template class StreamSections<float>;
template class StreamSections<double>;
template class StreamSections<i64>;

}  // namespace stz
