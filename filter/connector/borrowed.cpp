#include "connector/borrowed.h"

namespace stz::connector {
namespace {

thread_local Borrowed* innermost = nullptr;  // the latest one that is alive

}  // namespace

Borrowed::Borrowed(const Connector& connector, const void* object, int object_type) : connector_(connector), outer_(innermost) {
  innermost = this;
  const hdf5::SuppressErrors suppressed(*connector.calls);
  void* const below = connector.base->wrap.get_object(object);
  if (below) id_ = connector.H5VLwrap_register(below, object_type);
  wanted_ = false;
  if (!second_) id_ = -1;  // if there is an id nevertheless, closing it would close the object itself
}

Borrowed::~Borrowed() {
  if (id_ >= 0) connector_.H5Idec_ref(id_);
  innermost = outer_;
}

bool is_borrowed(const void* object) noexcept {
  for (const Borrowed* each = innermost; each; each = each->outer_)
    if (each->second_ == object) return true;
  return false;
}

bool give_back(const Connector& connector, void* object) noexcept {
  return is_borrowed(object) && connector.base->wrap.unwrap_object(object);
}

void* wrap_object(void* object, int type, void* context) {
  const Connector* const connector = connector_at(__builtin_return_address(0));
  if (!connector) return nullptr;
  void* const made = connector->base->wrap.wrap_object(object, type, context);
  if (innermost && innermost->wanted_ && !innermost->second_) innermost->second_ = made;
  return made;
}

}  // namespace stz::connector
