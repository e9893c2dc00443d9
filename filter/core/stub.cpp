// Temporary: stores arrays raw so that everything around the codec can be built. Replaced by the codec.
#include "stz.h"
#include <cstring>
static const size_t H = sizeof(stz_layout) + 8 + sizeof(stz_options);
extern "C" {
void stz_default_options(stz_options* o) { memset(o, 0, sizeof *o); }
size_t stz_element_size(int32_t d) { static const size_t s[] = {0, 2, 4, 8, 1, 1, 2, 2, 4, 4, 8, 8, 8, 16}; return d < 1 || d > 13 ? 0 : s[d]; }
static size_t bytes_of(const stz_layout* l) { size_t n = stz_element_size(l->dtype); for (int a = 0; a < l->rank; a++) n *= l->shape[a]; return n; }
size_t stz_max_compressed_size(const stz_layout* l) { return bytes_of(l) + H; }
int stz_compress(const stz_layout* l, const void* d, const stz_options* o, void* out, size_t cap, size_t* n) {
  if (!l || !o || !out || !n) return STZ_ERROR_ARGUMENT;
  if (!stz_element_size(l->dtype)) return STZ_ERROR_DTYPE;
  size_t b = bytes_of(l); if (cap < b + H) return STZ_ERROR_CAPACITY;
  char* p = (char*)out; memcpy(p, "STZ\1\0\0\0\0", 8); memcpy(p + 8, l, sizeof *l); memcpy(p + 8 + sizeof *l, o, sizeof *o); memcpy(p + H, d, b); *n = b + H; return 0;
}
int stz_info(const void* s, size_t n, stz_stream_info* i) {
  memset(i, 0, sizeof *i); if (n < 4 || memcmp(s, "STZ\1", 4)) return STZ_ERROR_MAGIC; if (n < H) return STZ_ERROR_TRUNCATED;
  stz_options o; memcpy(&i->layout, (const char*)s + 8, sizeof(stz_layout)); memcpy(&o, (const char*)s + 8 + sizeof(stz_layout), sizeof o);
  i->mode = o.mode; i->bound = o.bound; i->has_fill = o.has_fill; i->fill = o.fill; i->block = o.block; i->format_version = 1; i->levels = 1; i->array_bytes = bytes_of(&i->layout); i->level_offset[0] = H + i->array_bytes; i->form = "raw"; return 0;
}
int stz_decompress(const void* s, size_t n, void* out, size_t on) {
  stz_stream_info i; int e = stz_info(s, n, &i); if (e) return e; if (on != i.array_bytes) return STZ_ERROR_CAPACITY; if (n < H + on) return STZ_ERROR_TRUNCATED; memcpy(out, (const char*)s + H, on); return 0;
}
const char* stz_error_text(int c) { switch (c) {
#define X(n, c, t) case n: return t;
STZ_ERRORS(X)
#undef X
} return "unknown error"; }
}
