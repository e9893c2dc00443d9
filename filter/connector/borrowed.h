// Ids for objects of which a callback has only the address: with one, everything that works for programs works here.
//
// HDF5 makes a second object around what is below ours, and an id for it. When the id is closed that second object goes, and what is below
// it, which still belongs to the first, stays: callbacks that close have to ask give_back().
#pragma once
#include "connector/connector.h"

namespace stz::connector {

// To be made in a callback that HDF5 called for this object; for its thread, and closed in the reverse order.
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
  bool wanted_ = true;  // the next object that is made on this thread is ours
  hid_t id_ = -1;
};

// Is this the second object of an id that is borrowed on this thread?
bool is_borrowed(const void* object) noexcept;

// If so, frees it and is true.
bool give_back(const Connector& connector, void* object) noexcept;

// The callback that makes objects.
void* wrap_object(void* object, int type, void* context);

}  // namespace stz::connector
