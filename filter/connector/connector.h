// The connector of one loaded HDF5: its own pass-through connector with some callbacks replaced.
//
// Several copies of HDF5 can live in one process; each gets a record of its own, made of its own callbacks, and a callback of ours finds
// out by its return address for which of them it works.
#pragma once
#include "connector/vol_abi.h"
#include "hdf5/calls.h"

namespace stz::connector {

constexpr const char* connector_name = "h5stz";
constexpr int connector_value = 485;  // of those for testing, 256 to 511

#define STZ_CONNECTOR_FUNCTIONS(X)                                                                                            \
  X(H5Idec_ref, int, (hid_t id))                                                                                              \
  X(H5Pcopy, hid_t, (hid_t properties))                                                                                       \
  X(H5Pget_vol_id, herr_t, (hid_t access, hid_t * connector))                                                                 \
  X(H5Pget_vol_info, herr_t, (hid_t access, void** info))                                                                     \
  X(H5Pset_vol, herr_t, (hid_t access, hid_t connector, const void* info))                                                    \
  X(H5VLfile_create, void*, (const char* name, unsigned flags, hid_t creation, hid_t access, hid_t transfer, void** request)) \
  X(H5VLfile_open, void*, (const char* name, unsigned flags, hid_t access, hid_t transfer, void** request))                   \
  X(H5VLfile_close, herr_t, (void* file, hid_t connector, hid_t transfer, void** request))                                    \
  X(H5VLget_connector_id_by_name, hid_t, (const char* name))                                                                  \
  X(H5VLwrap_register, hid_t, (void* object, int type))

// Never changes once it is published.
struct Connector {
  const hdf5::Calls* calls;  // of the library
  STZ_CONNECTOR_FUNCTIONS(STZ_HDF5_MEMBER)
  const ConnectorClass* base;  // the library's pass-through connector
  ConnectorClass record;
  const Connector* next;
};

// That of the library whose code is at `return_address`; null if it has not loaded this connector. Thread-safe.
const Connector* connector_at(const void* return_address) noexcept;

// The record with which the library whose code is at `return_address` loads the connector: ours if all is as expected; the library's own
// pass-through connector under our name, so that everything works as without it, if its record is of another version; null, which makes
// the library say that it cannot load the connector, if there is none.
const void* class_for(const void* return_address) noexcept;

// The replaced callbacks: of connector_files.cpp and connector_datasets.cpp.
void replace_file_callbacks(ConnectorClass& record) noexcept;
void replace_dataset_callbacks(ConnectorClass& record) noexcept;

}  // namespace stz::connector
