#include "api/stream_info.h"

namespace stz {
namespace {

const char* form_name(const Header& h) {
  if (h.form == Form::raw) return "raw";
  if (h.form == Form::constant) return "constant";
  switch (h.quantizer) {
    case QuantizerKind::uniform:
      return "blocks of numbers";
    case QuantizerKind::ulp:
      return "blocks of ULP-space numbers";
    default:
      return h.transform == Transform::fixed_point ? "blocks of fixed-point numbers" : "blocks of integers";
  }
}

}  // namespace

stz_stream_info stream_info(const Header& h) {
  stz_stream_info info{};
  info.layout = h.layout;
  info.mode = h.mode;
  info.bound = h.bound;
  info.has_fill = h.has_fill;
  info.fill = h.fill;
  info.block = h.region ? STZ_BLOCK_REGION : STZ_BLOCK_DEFAULT;
  info.format_version = STZ_FORMAT_VERSION;
  info.array_bytes = array_bytes(h.layout);
  info.form = form_name(h);
  info.levels = 1;
  info.level_bytes[0] = stream_bytes(h);
  if (h.form == Form::blocks) {
    require(h.section.size() <= STZ_MAX_LEVELS, STZ_ERROR_CORRUPT);
    info.levels = i32(h.section.size());
    for (size_t l = 1; l < h.section.size(); l++) info.level_bytes[l] = info.level_bytes[l - 1] - h.section[h.section.size() - l];
  }
  return info;
}

}  // namespace stz
