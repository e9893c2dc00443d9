#include "recognition/decoded_chunks.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace stz::recognition {
namespace {

constexpr size_t most_waiting = size_t(1) << 24;  // probes of four bytes
constexpr size_t lasting = 8;                     // probes of a chunk that are dropped last
constexpr size_t most_hints = 4;
constexpr u32 most_steps = 256;      // from a chunk to another one of its dataset
constexpr size_t few_singles = 256;  // of chunks of fewer than 8,192 samples: decoding several takes little time
constexpr u64 enough_alone = 16;     // equal probes that identify the previous version, if they are an eighth of all
constexpr u64 telling_apart = 8;     // probes of the best match that another chunk lacks: that one is not the previous version
constexpr u64 key_mixing = 0x9e3779b97f4a7c15;
constexpr u64 chance = u64(1) << 16;  // beyond this number of comparisons of single samples, one equal sample says nothing

u64 mixed_key(u64 hash, u64 value) {
  hash = (hash ^ value) * key_mixing;
  return hash ^ hash >> 31;
}

// The lasting probes are spread over the single samples.
bool is_lasting(const Probes& probes, size_t place) {
  return probes.stride > 1 || (place < probes.singles && place % std::max<size_t>(1, probes.singles / lasting) == 0);
}

// Calls act(place, hash for the index) for the probes of one kind that say something. Prefetches the index ahead of the calls.
template <class Act>
void for_each_probe(const ContentIndex& index, const Probes& probes, u64 kind, Act act) {
  constexpr size_t ahead = 16;
  const size_t count = probes.hashes.size();
  const u64 layout = mixed_key(probes.layout, kind);
  std::array<u64, ahead> hashes{};
  for (size_t i = 0; i < count + ahead; ++i) {
    if (i >= ahead && probes.hashes[i - ahead] != 0) act((i - ahead) * probes.stride, hashes[i % ahead]);
    if (i >= count) continue;
    hashes[i % ahead] = mixed_key(mixed_key(layout, i * probes.stride), probes.hashes[i]) * key_mixing | u64(1) << 63;
    index.prefetch(hashes[i % ahead]);
  }
}

// Leaves out the values that are frequent in a chunk. Returns these values if the chunk is small, else nothing.
Probes split_frequent(Probes& probes) {
  Probes frequent;
  frequent.layout = probes.layout;
  frequent.singles = probes.singles;
  if (probes.singles <= few_singles) frequent.hashes = probes.hashes;
  probes.leave_out_frequent();
  for (size_t i = 0; i < frequent.hashes.size(); ++i)
    if (probes.hashes[i] != 0) frequent.hashes[i] = 0;
  return frequent;
}

}  // namespace

u64 DecodedChunks::key_of(const Place& place, u64 layout) {
  return mixed_key(mixed_key(layout, place.settings), u64(reinterpret_cast<uintptr_t>(place.dataset)));
}

// The remembered chunk with the same samples, as it was decoded from the same stream; `none` if there is none.
u32 DecodedChunks::same_chunk(u64 fingerprint, const void* stream, size_t size) const {
  const auto at = by_fingerprint_.find(fingerprint);
  if (at == by_fingerprint_.end()) return none;
  const Chunk& chunk = chunks_[at->second];
  return chunk.stream.size == size && pool_.holds(chunk.stream, stream) ? at->second : none;
}

// Inserts the probes of a chunk again, as probes of other chunks may have replaced them.
void DecodedChunks::renew(u32 number, Probes probes) {
  Chunk& chunk = chunks_[number];
  const size_t before = chunk.probes.hashes.size();
  if (before == 0 && index_.inserted() - chunk.indexed_at < 4 * probes.hashes.size()) return;
  if (before == probes.hashes.size()) return;
  wait_for_index(number, std::move(probes));
}

void DecodedChunks::touch(u32 number, const Place& place) {
  Chunk& chunk = chunks_[number];
  const auto last = at_address_.find(chunk.address);
  if (last != at_address_.end() && last->second == number && chunk.address != place.address) at_address_.erase(last);
  chunk.address = place.address;
  at_address_[place.address] = number;
  chunk.dataset = key_of(place, chunk.layout);
  if (datasets_.size() > most_datasets_) {  // a file that is opened again and again has another address each time
    std::erase_if(datasets_, [&](const auto& each) { return chunks_[each.second.newest].dataset != each.first; });
    most_datasets_ = std::max(most_datasets_, 2 * datasets_.size());
  }
  Dataset& dataset = datasets_.try_emplace(chunk.dataset, number).first->second;
  if (!dataset.reads) dataset.first = number;
  dataset.reads = true;
  dataset.prior.include(chunk.prior);
  dataset.note(number);
  chunk.decoded_at = ++clock_;
}

void DecodedChunks::add(Probes probes, const Place& place, const Prior& prior, const void* stream, size_t size) {
  const u64 fingerprint = mixed_key(mixed_key(probes.layout, place.settings), stream_fingerprint(stream, size));
  if (const u32 same = same_chunk(fingerprint, stream, size); same != none) {
    renew(same, std::move(probes));
    thin_out();
    return touch(same, place);
  }
  const u32 number = take_number();
  Layout& layout = layouts_[probes.layout];
  Chunk& chunk = chunks_[number];
  chunk.layout = probes.layout;
  chunk.settings = place.settings;
  chunk.fingerprint = fingerprint;
  chunk.prior = prior;
  chunk.is_known = true;
  ++layout.chunks;
  try {
    wait_for_index(number, std::move(probes));
    by_fingerprint_[fingerprint] = number;
    touch(number, place);
    keep_stream(number, stream, size);
    thin_out();
  } catch (...) {
    forget(number);
    throw;
  }
}

void DecodedChunks::wait_for_index(u32 number, Probes probes) {
  Chunk& chunk = chunks_[number];
  Layout& layout = layouts_.at(chunk.layout);
  if (layout.waiting.size() > 2 * size_t(layout.chunks) + 1024) drop_forgotten(layout.waiting);
  layout.waiting.push_back(number);
  waiting_ += probes.hashes.size() - chunk.probes.hashes.size();
  chunk.probes = std::move(probes);
}

// Drops duplicates, and the numbers of chunks that are forgotten or indexed by now.
void DecodedChunks::drop_forgotten(std::vector<u32>& waiting) const {
  std::sort(waiting.begin(), waiting.end());
  waiting.erase(std::unique(waiting.begin(), waiting.end()), waiting.end());
  std::erase_if(waiting, [&](u32 number) { return chunks_[number].probes.hashes.empty(); });
}

u32 DecodedChunks::take_number() {
  const u32 number = next_;
  if (number == chunks_.size())
    chunks_.emplace_back();
  else
    forget(number);
  next_ = (next_ + 1) & (ContentIndex::most_chunks - 1);
  return number;
}

void DecodedChunks::forget(u32 number) {
  Chunk& chunk = chunks_[number];
  if (!chunk.is_known) return;
  const auto erase = [number](auto& map, const auto& key, auto number_of) {
    const auto at = map.find(key);
    if (at != map.end() && number_of(at->second) == number) map.erase(at);
  };
  erase(by_fingerprint_, chunk.fingerprint, [](u32 each) { return each; });
  erase(at_address_, chunk.address, [](u32 each) { return each; });
  erase(datasets_, chunk.dataset, [](const Dataset& each) { return each.newest; });
  const auto layout = layouts_.find(chunk.layout);
  if (--layout->second.chunks == 0) layouts_.erase(layout);
  waiting_ -= chunk.probes.hashes.size();
  drop_stream(chunk);
  chunk = Chunk();
}

void DecodedChunks::drop_stream(Chunk& chunk) {
  if (!chunk.stream) return;
  stream_bytes_ -= StreamPool::room_for(chunk.stream.size);
  pool_.drop(chunk.stream);
}

// Keeps the stream and drops those of the oldest chunks. Out of memory is ignored: a read must not fail for the needs of rewriting.
void DecodedChunks::keep_stream(u32 number, const void* stream, size_t size) {
  const u64 room = StreamPool::room_for(size);
  if (room > stream_limit_) return;
  while (stream_bytes_ + room > stream_limit_) {
    drop_stream(chunks_[oldest_kept_]);
    oldest_kept_ = u32((oldest_kept_ + 1) % chunks_.size());
  }
  try {
    chunks_[number].stream = pool_.keep(stream, size);
    stream_bytes_ += room;
  } catch (const std::bad_alloc&) {}
}

// If too many probes are waiting, keeps only the lasting ones of the chunks that were decoded first.
void DecodedChunks::thin_out() {
  while (waiting_ > most_waiting) {
    Probes& probes = chunks_[oldest_dense_].probes;
    oldest_dense_ = u32((oldest_dense_ + 1) % chunks_.size());
    if (probes.stride > 1 || probes.singles <= lasting) continue;
    Probes few;
    few.layout = probes.layout;
    few.stride = std::max<size_t>(1, probes.singles / lasting);
    for (size_t place = 0; place < probes.singles; place += few.stride) few.hashes.push_back(probes.hashes[place]);
    few.singles = few.hashes.size();
    waiting_ -= probes.hashes.size() - few.hashes.size();
    probes = std::move(few);
  }
}

void DecodedChunks::index_waiting(u64 layout) {
  std::vector<u32>& waiting = layouts_[layout].waiting;
  size_t probes = 0;
  for (const u32 number : waiting) probes += chunks_[number].probes.hashes.size();
  index_.reserve(probes);
  for (const u32 number : waiting) {
    Probes& of_chunk = chunks_[number].probes;
    if (of_chunk.hashes.empty() || of_chunk.layout != layout) continue;  // forgotten or indexed meanwhile
    const Probes often = split_frequent(of_chunk);
    for_each_probe(index_, of_chunk, telling,
                   [&](size_t place, u64 hash) { index_.insert(hash, number, is_lasting(of_chunk, place), decoded_at()); });
    for_each_probe(index_, often, frequent, [&](size_t, u64 hash) { index_.insert(hash, number, false, decoded_at()); });
    waiting_ -= of_chunk.hashes.size();
    of_chunk = Probes();
    chunks_[number].indexed_at = index_.inserted();
  }
  waiting.clear();
}

// All chunks that have one of the probes. The order is by the number of equal probes, then own dataset first, then latest decoding first.
std::vector<DecodedChunks::Match> DecodedChunks::matches_of(const Probes& probes, u64 dataset, u64 kind) {
  std::vector<Match> matches;
  std::unordered_map<u32, size_t> match_of;
  for_each_probe(index_, probes, kind, [&](size_t place, u64 hash) {
    index_.find(hash, [&](u32 chunk) {
      if (chunk >= chunks_.size() || !chunks_[chunk].is_known || chunks_[chunk].layout != probes.layout) return;
      const auto [at, is_new] = match_of.try_emplace(chunk, matches.size());
      if (is_new) matches.push_back({chunk, 0, {}});
      Match& match = matches[at->second];
      match.score += place < probes.singles ? 1 : 2;
      match.places.push_back(u32(place));
    });
  });
  const auto rank = [&](const Match& match) {
    const Chunk& chunk = chunks_[match.chunk];
    return std::tuple(match.score, chunk.dataset == dataset, chunk.decoded_at);
  };
  std::sort(matches.begin(), matches.end(), [&](const Match& a, const Match& b) { return rank(a) > rank(b); });
  return matches;
}

// Whether these equal probes show that samples come from another dataset's chunk. Single samples may be equal by chance, or be zeros whose
// share is just below that of a frequent value.
static bool is_copy(const std::vector<u32>& places, const Probes& probes, size_t telling) {
  if (places.back() >= probes.singles) return true;
  if (places.size() * 16 < telling) return false;
  std::vector<u32> values;
  for (const u32 at : places) values.push_back(probes.hashes[at]);
  std::sort(values.begin(), values.end());
  size_t most = 0;
  for (size_t first = 0, end = 0; first < values.size(); first = end) {
    while (end < values.size() && values[end] == values[first]) ++end;
    most = std::max(most, end - first);
  }
  return most * 2 <= values.size();
}

// Chooses chunks that together have every probe that any of the matches has.
void DecodedChunks::choose(std::vector<Match>& matches, const Probes& probes, size_t telling, const Place& place, Candidates& found) const {
  const u64 compared = u64(layouts_.at(probes.layout).chunks) * probes.singles;
  const u32 enough = compared > chance ? 2 : 1;
  std::vector<u8> covered(probes.hashes.size());
  const u64 dataset = key_of(place, probes.layout);
  for (const Match& match : matches) {
    const Chunk& chunk = chunks_[match.chunk];
    if (match.score < enough && chunk.dataset != dataset) continue;
    if (chunk.settings != place.settings) {
      if (is_copy(match.places, probes, telling)) found.prior.include(chunk.prior);
      continue;
    }
    found.own.include(chunk.prior);
    if (found.exact || std::all_of(match.places.begin(), match.places.end(), [&](u32 at) { return covered[at]; })) continue;
    for (const u32 at : match.places) covered[at] = 1;
    if (chunk.stream && found.chunks.size() < Candidates::usual)
      found.chunks.push_back(match.chunk);
    else
      found.exact |= match.score >= enough;
  }
}

u32 DecodedChunks::next_of_dataset(u32 number, u64 dataset) const {
  for (u32 step = 1; step <= most_steps; ++step) {
    const u32 next = (number + step) & (ContentIndex::most_chunks - 1);
    if (next == next_ || next >= chunks_.size()) break;
    if (chunks_[next].is_known && chunks_[next].dataset == dataset) return next;
  }
  return number;
}

// Adds a chunk to the candidates, once, if its stream can be compared. Returns false if it cannot be added.
bool DecodedChunks::add(u32 number, const Place& place, u64 layout, Candidates& found) const {
  const Chunk& chunk = chunks_[number];
  if (!chunk.is_known || !chunk.stream || chunk.layout != layout || chunk.settings != place.settings) return false;
  if (std::find(found.chunks.begin(), found.chunks.end(), number) != found.chunks.end()) return true;
  if (found.chunks.size() == Candidates::most) return false;
  found.chunks.push_back(number);
  found.own.include(chunk.prior);
  return true;
}

// For a small chunk: adds chunks in which one of its values is frequent at the same place, and chunks that have its own frequent values.
// The only unchanged samples may be frequent values.
void DecodedChunks::add_of_frequent(const Probes& all, const Place& place, Candidates& found) {
  Probes rest = all;
  const Probes often = split_frequent(rest);
  const u64 key = key_of(place, all.layout);
  std::vector<u8> covered(all.hashes.size());
  for (const auto& matches : {matches_of(all, key, frequent), matches_of(often, key, telling)})
    for (const Match& match : matches) {
      if (std::all_of(match.places.begin(), match.places.end(), [&](u32 at) { return covered[at]; })) continue;
      if (!add(match.chunk, place, all.layout, found)) continue;
      for (const u32 at : match.places) covered[at] = 1;
    }
}

// Adds hints by address and order: the chunk that was decoded to this address, the two that follow the chunk that was changed last, and the
// newest one. They are compared like all candidates. Only datasets that have decoded something get them, so that copying programs do not
// pay for them.
void DecodedChunks::add_hints(const Place& place, const Probes& all, bool is_small, bool is_new, Candidates& found) {
  const u64 layout = all.layout, key = key_of(place, layout);
  const auto dataset = datasets_.find(key);
  if (dataset == datasets_.end()) return;
  if (stream_limit_ == 0) {  // without streams nothing can prove that the chunk is new
    found.exact = true;
    found.own.include(dataset->second.prior);
    return;
  }
  if (const auto at = at_address_.find(place.address); at != at_address_.end()) add(at->second, place, layout, found);
  Dataset& order = dataset->second;
  if (std::exchange(order.reads, false)) order.expected = order.first;
  const u32 next = next_of_dataset(order.expected, key);
  for (const u32 number : {order.expected, next, order.newest}) add(number, place, layout, found);
  order.expected = next;
  if (!is_small) return;
  add_of_frequent(all, place, found);
  for (const u32 number : order.latest) {
    if (is_new && found.chunks.size() >= Candidates::usual) break;
    add(number, place, layout, found);
  }
}

// Chunks with nearly as many equal probes as the best match may differ from it between the probes: the newest of these are compared too.
// States of a chunk that is written in parts share most of their probes, but only the last state has all unchanged ones. So a chunk is left
// out if it lacks several probes of the best match that the index cannot have dropped. Returns whether any chunk was added.
bool DecodedChunks::add_alike(const std::vector<Match>& matches, const Probes& probes, const Place& place, Candidates& found) const {
  const Match& best = matches.front();
  const auto has_nearly_as_many = [&](const Match& match) { return match.score >= best.score - best.score / 4; };
  if (matches.size() < 2 || !has_nearly_as_many(matches[1])) return false;
  std::vector<u64> dropped_until(probes.hashes.size(), ~u64(0));
  for_each_probe(index_, probes, telling, [&](size_t at, u64 hash) { dropped_until[at] = index_.dropped_until(hash, decoded_at()); });
  const auto lacks = [&](const Match& match) {
    const u64 decoded = chunks_[match.chunk].decoded_at;
    size_t count = 0, k = 0;
    for (const u32 at : best.places) {
      while (k < match.places.size() && match.places[k] < at) ++k;
      count += (k == match.places.size() || match.places[k] != at) && decoded > dropped_until[at];
    }
    return count;
  };
  bool any = false;
  for (const Match& match : matches) {
    if (!has_nearly_as_many(match) || found.chunks.size() + most_hints >= Candidates::usual) break;
    if (lacks(match) >= telling_apart) continue;
    const size_t before = found.chunks.size();
    add(match.chunk, place, chunks_[match.chunk].layout, found);
    any |= found.chunks.size() > before;
  }
  return any;
}

Candidates DecodedChunks::find(Probes probes, const Place& place) {
  Candidates found;
  if (!knows(probes.layout)) return found;
  index_waiting(probes.layout);
  const bool is_small = probes.singles <= few_singles;
  Probes all;  // all probes, with the frequent values; for a small chunk only
  all.layout = probes.layout;
  if (is_small) all = probes;
  const size_t saying = probes.leave_out_frequent();
  const u64 key = key_of(place, probes.layout);
  std::vector<Match> matches = matches_of(probes, key, telling);
  choose(matches, probes, saying, place, found);
  if (found.exact) return found;
  const u64 best = found.chunks.empty() ? 0 : matches.front().score;
  const bool is_weak = best < enough_alone || best * 8 < saying || add_alike(matches, probes, place, found);
  if (const auto dataset = datasets_.find(key); !is_weak && dataset != datasets_.end()) {
    dataset->second.expected = next_of_dataset(found.chunks.front(), key);
    dataset->second.reads = false;
  }
  if (is_weak) add_hints(place, all, is_small, matches.empty(), found);
  return found;
}

}  // namespace stz::recognition
