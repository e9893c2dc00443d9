// Ids for objects of which a callback only has the address, so that code written for ids works in callbacks.
//
// HDF5 wraps the object below ours in a second object and makes an id for that. Closing the id frees the second object only: the object
// below still belongs to the first one. So close callbacks must call give_back() first.
#pragma once
#include "connector/connector.h"

namespace stz::connector {

// Make it in a callback that HDF5 called for this object. For one thread; destroyed in reverse order.
class Borrowed {
 public:
  Borrowed(const Connector& connector, const void* object, int object_type);
  ~Borrowed();
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  hid_t get() const { return id_; }
  bool valid() const { return id_ >= 0; }

 private:
  friend void* wrap_object(void* object, int type, void* context);
  friend bool is_borrowed(const void* object) noexcept;
  const Connector& connector_;
  Borrowed* outer_;
  void* second_ = nullptr;
  bool wanted_ = true;  // the next object made on this thread is the second object
  hid_t id_ = -1;
};

// Whether this is the second object of a borrowed id of this thread.
bool is_borrowed(const void* object) noexcept;

// If it is, frees it and returns true.
bool give_back(const Connector& connector, void* object) noexcept;

// The wrap_object callback, which makes objects.
void* wrap_object(void* object, int type, void* context);

}  // namespace stz::connector
