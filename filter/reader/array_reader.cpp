#include "reader/array_reader.h"

#include "reader/patched_reader.h"

namespace stz {

std::unique_ptr<ArrayReader> open_array(Source& source, u64 cache_bytes) {
  SourcePart whole(source);
  Header header = peek_header(whole);
  if (header.form == Form::patched) return std::make_unique<PatchedReader>(source, std::move(header), cache_bytes);
  return std::make_unique<StreamReader>(whole, std::move(header), cache_bytes);
}

}  // namespace stz
