// Remembers decoded chunks, and finds the possible previous versions of a chunk among them. Not thread-safe: memory.cpp has the lock.
#pragma once
#include <algorithm>
#include <array>
#include <deque>
#include <unordered_map>
#include <vector>

#include "recognition/content_index.h"
#include "recognition/prior.h"
#include "recognition/probes.h"
#include "recognition/stream_pool.h"

namespace stz::recognition {

// A chunk that was decoded, or that is to be encoded.
struct Place {
  u64 settings = 0;               // a hash of the options of its dataset
  const void* dataset = nullptr;  // one address for each open dataset: a hint
  const void* address = nullptr;  // of the samples: a hint
};

// The remembered chunks that may be the previous version of a chunk. Any of them may be wrong: the caller decodes and compares.
struct Candidates {
  static constexpr size_t most = 32, usual = 8;
  std::vector<u32> chunks;
  bool exact = false;  // a possible previous version has no stream any more, or there are more than `usual`: store it losslessly
  Prior prior = {};    // the loss of chunks with other settings whose samples it has
  Prior own = {};      // the loss of its possible previous versions
};

class DecodedChunks {
 public:
  // stream_bytes: the most bytes of streams that are kept.
  explicit DecodedChunks(u64 stream_bytes) : stream_limit_(stream_bytes) {}

  // prior: the loss of the samples. If it throws std::bad_alloc, the chunk is not remembered.
  void add(Probes probes, const Place& place, const Prior& prior, const void* stream, size_t size);
  // Whether any chunk of this layout is remembered.
  bool knows(u64 layout) const { return layouts_.count(layout) != 0; }
  // Throws std::bad_alloc.
  Candidates find(Probes probes, const Place& place);
  Buffer<u8> stream_of(u32 chunk) const { return pool_.bytes_of(chunks_[chunk].stream); }

 private:
  static constexpr u32 none = ~u32(0);
  static constexpr u64 telling = 0, frequent = 1;  // kinds of probes

  struct Chunk {
    u64 layout = 0, settings = 0, dataset = 0, fingerprint = 0;
    Prior prior = {};
    u64 decoded_at = 0;  // clock_ at its last decoding
    u64 indexed_at = 0;  // index_.inserted() after its last indexing
    const void* address = nullptr;
    KeptStream stream;
    Probes probes;  // until they are in the index
    bool is_known = false;
  };
  struct Dataset {
    u32 newest;                                // the chunk that was decoded last
    u32 first;                                 // the first chunk that was decoded since one was encoded
    u32 expected;                              // the chunk that is probably encoded next, as HDF5 flushes in the order of its reads
    bool reads = true;                         // its last chunk was decoded, not encoded
    Prior prior = {};                          // the largest loss of all its chunks
    std::array<u32, Candidates::most> latest;  // the chunks that were decoded last, the latest first

    explicit Dataset(u32 number) : newest(number), first(number), expected(number) { latest.fill(number); }
    void note(u32 number) {
      const auto at = std::find(latest.begin(), latest.end() - 1, number);
      std::copy_backward(latest.begin(), at, at + 1);
      latest[0] = newest = number;
    }
  };
  struct Layout {
    u32 chunks = 0;
    std::vector<u32> waiting;  // chunks whose probes are not yet in the index
  };
  struct Match {
    u32 chunk;
    u32 score = 0;  // runs count twice
    std::vector<u32> places;
  };

  static u64 key_of(const Place& place, u64 layout);
  u32 same_chunk(u64 fingerprint, const void* stream, size_t size) const;
  void wait_for_index(u32 number, Probes probes);
  void renew(u32 number, Probes probes);
  void touch(u32 chunk, const Place& place);
  u32 take_number();
  void forget(u32 chunk);
  void keep_stream(u32 chunk, const void* stream, size_t size);
  void drop_stream(Chunk& chunk);
  void thin_out();
  void index_waiting(u64 layout);
  std::vector<Match> matches_of(const Probes& probes, u64 dataset, u64 kind);
  void choose(std::vector<Match>& matches, const Probes& probes, size_t telling, const Place& place, Candidates& found) const;
  auto decoded_at() const {  // the time of a chunk's last decoding, for the index
    return [this](u32 number) { return number < chunks_.size() ? chunks_[number].decoded_at : 0; };
  }
  bool add_alike(const std::vector<Match>& matches, const Probes& probes, const Place& place, Candidates& found) const;
  void add_hints(const Place& place, const Probes& all, bool is_small, bool is_new, Candidates& found);
  void add_of_frequent(const Probes& all, const Place& place, Candidates& found);
  bool add(u32 chunk, const Place& place, u64 layout, Candidates& found) const;
  u32 next_of_dataset(u32 chunk, u64 dataset) const;
  void drop_forgotten(std::vector<u32>& waiting) const;

  std::deque<Chunk> chunks_;  // a ring
  u32 next_ = 0;              // number of the next chunk
  u64 clock_ = 0;             // number of decodings so far
  u32 oldest_kept_ = 0;       // no older chunk has a stream
  u32 oldest_dense_ = 0;      // no older chunk has all its probes waiting
  u64 stream_limit_, stream_bytes_ = 0;
  size_t waiting_ = 0;  // probes
  StreamPool pool_;
  ContentIndex index_;
  std::unordered_map<u64, Layout> layouts_;
  std::unordered_map<u64, u32> by_fingerprint_;
  std::unordered_map<const void*, u32> at_address_;
  std::unordered_map<u64, Dataset> datasets_;
  size_t most_datasets_ = 65536;  // beyond this number, datasets without a remembered chunk are dropped
};

}  // namespace stz::recognition
