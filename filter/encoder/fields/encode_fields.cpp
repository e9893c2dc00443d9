#include "encoder/fields/encode_fields.h"

#include "base/parallel.h"
#include "encoder/fields/field_block_encoder.h"

namespace stz {
namespace {

constexpr u64 estimated_blocks = 4;

// Encodes some blocks, a few at a time, and hands each one over in order: f(bytes of the block).
template <class U, class F>
void encode_blocks(const Array& a, const FieldPlan& plan, const std::vector<u64>& blocks, int threads, F f) {
  const u64 numbers = a.elements * u64(a.parts), in_block = u64(1) << log2_field_block;
  std::vector<Buffer<u8>> coded(std::min<u64>(blocks.size(), 2 * u64(threads)));
  for (u64 first = 0; first < blocks.size(); first += coded.size()) {
    const u64 count = std::min<u64>(coded.size(), blocks.size() - first);
    using Worker = std::vector<FieldBlockEncoder<U>>;
    parallel_for<Worker>(count, threads, [&](Worker& encoder, u64 i) {
      if (encoder.empty()) encoder.emplace_back(a.layout.dtype, plan, a.swap);
      const u64 at = blocks[first + i] * in_block;
      encoder[0].encode(a.data + at * a.width, size_t(std::min(in_block, numbers - at)), coded[i]);
    });
    for (u64 i = 0; i < count; i++) f(coded[i]);
  }
}

template <class F>
void encode_blocks(const Array& a, const FieldPlan& plan, const std::vector<u64>& blocks, int threads, F f) {
  a.width == 1   ? encode_blocks<u8>(a, plan, blocks, threads, f)
  : a.width == 2 ? encode_blocks<u16>(a, plan, blocks, threads, f)
  : a.width == 4 ? encode_blocks<u32>(a, plan, blocks, threads, f)
                 : encode_blocks<u64>(a, plan, blocks, threads, f);
}

// The header and the directory take the place that was left for them.
void put_front(Header& h, const std::vector<u64>& sizes, size_t room, Bytes& out) {
  for (u64 size : sizes) h.fields.blocks += size;
  Bytes front = write_field_directory(sizes);
  h.fields.directory = front.size();
  const Bytes header = write_header(h);
  front.insert(front.begin(), header.begin(), header.end());
  if (front.size() < room)
    out.erase(out.begin(), out.begin() + std::ptrdiff_t(room - front.size()));
  else
    out.insert(out.begin(), front.size() - room, 0);
  std::copy(front.begin(), front.end(), out.begin());
}

void code(const Array& a, Header& h, const FieldPlan& plan, u64 all, int threads, Stream& out) {
  constexpr size_t longest_size = 3;
  std::vector<u64> blocks(all), sizes;
  for (u64 k = 0; k < all; k++) blocks[k] = k;
  const size_t room = write_header(h).size() + 32 + longest_size * all;
  out.bytes.reserve(room + array_bytes(h.layout));
  out.bytes.resize(room);
  encode_blocks(a, plan, blocks, threads, [&](const Buffer<u8>& block) {
    out.bytes.insert(out.bytes.end(), block.begin(), block.end());
    sizes.push_back(block.size());
  });
  put_front(h, sizes, room, out.bytes);
}

void code(const Array& a, Header&, const FieldPlan& plan, u64 all, int threads, SizeEstimate& out) {
  constexpr double header = 48, of_directory = 3;
  std::vector<u64> blocks;
  const u64 wanted = std::min(all, estimated_blocks);
  for (u64 k = 0; k < wanted; k++) blocks.push_back(wanted == all ? k : k * (all - 1) / wanted);  // the last one may be short
  double bytes = 0;
  encode_blocks(a, plan, blocks, threads, [&](const Buffer<u8>& block) { bytes += double(block.size()); });
  out.bytes = header + double(all) * (of_directory + bytes / double(wanted));
  out.squared_error = 0;
}

}  // namespace

template <class Out>
Out encode_fields(const Array& a, const Header& header, const FieldPlan& plan, int threads) {
  Header h = header;
  h.form = Form::raw;
  h.fields.log2_block = log2_field_block;
  h.fields.mantissa = plan.mantissa;
  Out out;
  code(a, h, plan, ((a.elements * u64(a.parts) - 1) >> log2_field_block) + 1, threads, out);
  return out;
}

template Stream encode_fields(const Array&, const Header&, const FieldPlan&, int);
template SizeEstimate encode_fields(const Array&, const Header&, const FieldPlan&, int);

}  // namespace stz
