// LRU cache of a reader's decoded blocks.
#pragma once
#include <list>
#include <memory>
#include <unordered_map>

#include "base/buffer.h"
#include "masks/mask_coder.h"

namespace stz {

template <class S>
struct DecodedBlock {
  Box box{};       // in samples of its level
  u32 wanted = 0;  // decoded parity classes; samples of other classes are undefined
  Box exact{};     // samples outside of this box are undefined too
  Buffer<S> samples;
  Buffer<u8> activities;                 // empty on level 0, and if a class was not decoded
  Buffer<u8> specials;                   // empty if there are no masks
  std::vector<LiteralElement> literals;  // of all samples of kind special_literal, sorted by index
  u64 bytes() const { return samples.size() * sizeof(S) + activities.size() + specials.size() + literals.size() * sizeof(LiteralElement); }
};

template <class S>
class BlockCache {
 public:
  using Block = std::shared_ptr<const DecodedBlock<S>>;
  explicit BlockCache(u64 limit) : limit_(limit) {}
  u64 limit() const { return limit_; }
  u64 bytes() const { return bytes_; }

  // Returns the block if it has the wanted classes and the needed samples, else null.
  Block find(size_t level, u64 number, u32 wanted, const Box& needed) {
    auto it = entries_.find({level, number});
    if (it == entries_.end() || !has(*it->second->block, wanted, needed)) return nullptr;
    order_.splice(order_.begin(), order_, it->second);
    return it->second->block;
  }
  bool has(size_t level, u64 number, u32 wanted, const Box& needed) const {
    auto it = entries_.find({level, number});
    return it != entries_.end() && has(*it->second->block, wanted, needed);
  }
  // Whether the block is cached, with any classes and samples.
  bool has_part(size_t level, u64 number) const { return entries_.count({level, number}) != 0; }
  void keep(size_t level, u64 number, Block block) {
    const Key key{level, number};
    if (auto it = entries_.find(key); it != entries_.end()) drop(it->second);
    if (block->bytes() > limit_) return;
    order_.push_front({key, std::move(block)});
    try {
      entries_[key] = order_.begin();
    } catch (...) {
      order_.pop_front();
      throw;
    }
    bytes_ += order_.front().block->bytes();
    set_limit(limit_);
  }
  void set_limit(u64 limit) {
    limit_ = limit;
    while (bytes_ > limit_) drop(std::prev(order_.end()));
  }

 private:
  struct Key {
    size_t level;
    u64 number;
    bool operator==(const Key& k) const { return level == k.level && number == k.number; }
  };
  struct Hash {
    size_t operator()(const Key& k) const { return size_t((k.number * 64 + k.level) * 0x9e3779b97f4a7c15u >> 16); }
  };
  struct Entry {
    Key key;
    Block block;
  };
  static bool has(const DecodedBlock<S>& block, u32 wanted, const Box& needed) {
    if ((block.wanted & wanted) != wanted) return false;
    bool inside = true, none = false;
    for (size_t a = 0; a < axes; a++) {
      none |= needed.size[a] == 0;
      inside &= needed.low[a] >= block.exact.low[a] && needed.low[a] + needed.size[a] <= block.exact.low[a] + block.exact.size[a];
    }
    return inside || none;
  }
  using Place = typename std::list<Entry>::iterator;
  void drop(Place place) {
    bytes_ -= place->block->bytes();
    entries_.erase(place->key);
    order_.erase(place);
  }
  u64 limit_, bytes_ = 0;
  std::list<Entry> order_;  // most recently used first
  std::unordered_map<Key, Place, Hash> entries_;
};

}  // namespace stz
