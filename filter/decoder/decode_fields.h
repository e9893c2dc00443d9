// Decodes floating-point fields (format/float_fields.h).
#pragma once
#include "base/buffer.h"
#include "format/frame.h"

namespace stz {

// Decodes single blocks of a stream. Each thread has its own.
class FieldBlockDecoder {
 public:
  explicit FieldBlockDecoder(const Header& h);

  // The numbers of a block, as they are in the array.
  u64 numbers(u64 block) const { return std::min(in_block_, all_ - block * in_block_); }
  // Fails unless the block is whole. `out` has room for its numbers.
  void decode(u64 block, const u8* bytes, size_t size, u8* out);

 private:
  template <class U>
  void decode(const u8* bytes, size_t size, size_t n, u8* out);
  template <class U>
  void join(const FieldBlock& b, const u8* parts, size_t n, U* x);
  template <class U>
  void join_kinds(const FieldBlock& b, const FieldBlockLayout& layout, const u8* planes, size_t n, U* x);
  const u8* decode_symbols(const FieldBlock& b, const u8* parts, size_t n);

  const FieldWidths widths_;
  const size_t width_;
  const bool swap_;
  const u64 all_, in_block_;
  Buffer<u8> symbols_;
  Buffer<u32> places_;
  Buffer<u64> numbers_, rests_;  // room for numbers of any width
};

// The numbers in all components of the array; the number of blocks.
u64 field_numbers(const Header& h);
u64 field_block_count(const Header& h);

// Decodes a whole stream.
void decode_fields(const Header& h, const u8* stream, u64 size, u8* out, int threads);

}  // namespace stz
