#include "encoder/represent/repeat_maps.h"

#include <tuple>

namespace stz {
namespace {

constexpr u64 multiplier = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
constexpr i64 to_each_side = 4;                 // elements of a row on each side of a place that belong to its surroundings
constexpr u64 share_of_elements = 16, usual_places = 1 << 11, most_places = 4 * usual_places, largest_group = 8, most_pairs = 1 << 13;
constexpr u64 run_of_elements = 64;  // elements that are looked at together
constexpr u64 fewest_votes = 8, share_of_pairs = 64;
constexpr size_t most_maps = 16;

// A place whose surroundings are noted. Whether they are depends on its number alone, so a box and its copy have the same places noted.
struct NotedPlace {
  u64 surroundings;  // a hash that does not depend on the direction
  u64 element;
  bool backwards;  // the hash is that of the surroundings read backwards

  bool operator<(const NotedPlace& other) const { return std::tie(surroundings, element) < std::tie(other.surroundings, other.element); }
};

template <class U>
u64 hash_of(const U* middle, i64 step) {
  u64 hash = 0;
  for (i64 k = -to_each_side; k <= to_each_side; k++) hash = (hash ^ u64(middle[k * step])) * multiplier, hash ^= hash >> 29;
  return hash;
}

// Whether the places of a number are noted. About one number of mask + 1 is chosen.
template <class U>
bool is_noted(U number, u32 mask) {
  return (u32(number) * u32(multiplier >> 32) >> 16 & mask) == 0;
}

// Loads the rough magnitudes of a row.
template <class U>
void load_row(const Array& a, u64 first, u64 row, U* numbers) {
  memcpy(numbers, a.data + first * sizeof(U), row * sizeof(U));
  if (a.swap)
    for (u64 i = 0; i < row; i++) numbers[i] = U(load_bits(a.data + (first + i) * sizeof(U), sizeof(U), true));
  for (u64 i = 0; i < row; i++) numbers[i] = rough_magnitude(numbers[i]);
}

template <class U>
std::vector<NotedPlace> noted_places(const Array& a) {
  const u64 row = a.layout.shape[a.layout.rank - 1];
  std::vector<NotedPlace> places;
  if (row <= 2 * u64(to_each_side)) return places;
  const u64 wanted = std::min(usual_places, a.elements / share_of_elements);
  u32 mask = 0;
  while (mask < 0x7fff && a.elements > wanted * (mask + 1)) mask = 2 * mask + 1;
  Buffer<U> numbers(row);
  for (u64 first = 0; first < a.elements && places.size() < most_places; first += row) {
    load_row(a, first, row, numbers.data());
    for (u64 from = u64(to_each_side), to; from < row - u64(to_each_side); from = to) {
      to = std::min(from + run_of_elements, row - u64(to_each_side));
      u32 any = 0;
      for (u64 i = from; i < to; i++) any |= u32(is_noted(numbers[i], mask));
      for (u64 i = from; any && i < to; i++) {
        const U* const middle = numbers.data() + i;
        if (!is_noted(*middle, mask) || (middle[-1] == middle[0] && middle[0] == middle[1])) continue;
        const u64 forwards = hash_of(middle, 1), backwards = hash_of(middle, -1);
        if (forwards != backwards) places.push_back({std::min(forwards, backwards), first + i, backwards < forwards});
      }
    }
  }
  return places;
}

struct MapVote {
  u64 map;  // a hash
  RepeatMap meant;

  bool operator<(const MapVote& other) const { return map < other.map; }
};

void place_of(const stz_layout& layout, u64 element, i64* index) {
  for (int axis = layout.rank - 1; axis >= 0; axis--) {
    index[axis] = i64(element % layout.shape[axis]);
    element /= layout.shape[axis];
  }
}

// Of a map and its inverse the one that stands for both: votes for them count together.
RepeatMap normal(const RepeatMap& map, int rank) {
  for (int axis = 0; axis < rank; axis++)
    if (!map.mirrors(axis) && map.offset[axis] != 0) return map.offset[axis] < 0 ? map.inverse() : map;
  return map;
}

// Adds the votes of two places. Their directions say whether the last axis is mirrored; for the other axes all combinations are possible.
void vote(const Array& a, const NotedPlace& one, const NotedPlace& two, std::vector<MapVote>& votes) {
  const int rank = a.layout.rank, last = rank - 1;
  i64 from[most_repeat_axes], to[most_repeat_axes];
  place_of(a.layout, one.element, from);
  place_of(a.layout, two.element, to);
  const u32 of_last = one.backwards != two.backwards ? u32(1) << last : 0;
  for (u32 others = 0; others < u32(1) << last; others++) {
    RepeatMap map;
    map.mirrored = others | of_last;
    u64 hash = map.mirrored;
    for (int axis = 0; axis < rank; axis++) map.offset[axis] = map.mirrors(axis) ? from[axis] + to[axis] : to[axis] - from[axis];
    map = normal(map, rank);
    for (int axis = 0; axis < rank; axis++) hash = (hash ^ u64(map.offset[axis])) * multiplier, hash ^= hash >> 31;
    votes.push_back({hash, map});
  }
}

std::vector<MapVote> votes_of(const Array& a, const std::vector<NotedPlace>& places) {
  std::vector<MapVote> votes;
  u64 pairs = 0;
  for (size_t from = 0, to; from < places.size() && pairs < most_pairs; from = to) {
    for (to = from + 1; to < places.size() && places[to].surroundings == places[from].surroundings;) to++;
    if (to - from > largest_group) continue;
    for (size_t i = from; i < to; i++)
      for (size_t k = i + 1; k < to; k++, pairs++) vote(a, places[i], places[k], votes);
  }
  return votes;
}

}  // namespace

RepeatMap RepeatMap::inverse() const {
  RepeatMap map = *this;
  for (int axis = 0; axis < most_repeat_axes; axis++)
    if (!mirrors(axis)) map.offset[axis] = -offset[axis];
  return map;
}

std::vector<RepeatMap> likely_repeat_maps(const Array& a) {
  std::vector<NotedPlace> places = a.width == 4 ? noted_places<u32>(a) : noted_places<u64>(a);
  std::sort(places.begin(), places.end());
  std::vector<MapVote> votes = votes_of(a, places);
  std::sort(votes.begin(), votes.end());
  const u64 fewest = std::max<u64>(fewest_votes, (votes.size() >> (a.layout.rank - 1)) / share_of_pairs);
  std::vector<RepeatMap> maps;
  for (size_t from = 0, to; from < votes.size(); from = to) {
    for (to = from + 1; to < votes.size() && votes[to].map == votes[from].map;) to++;
    if (to - from < fewest) continue;
    maps.push_back(votes[from].meant);
    maps.back().votes = to - from;
  }
  std::stable_sort(maps.begin(), maps.end(), [](const RepeatMap& one, const RepeatMap& two) { return one.votes > two.votes; });
  if (maps.size() > most_maps) maps.resize(most_maps);
  return maps;
}

}  // namespace stz
