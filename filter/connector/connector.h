// The connector of one loaded HDF5: HDF5's own pass-through connector with some callbacks replaced.
//
// Several copies of HDF5 can live in one process. Each gets its own record, made from its own callbacks. Our callbacks identify the HDF5
// that calls them by their return address.
#pragma once
#include "connector/vol_abi.h"
#include "hdf5/calls.h"

namespace stz::connector {

constexpr const char* connector_name = "h5stz";
constexpr int connector_value = 485;  // from the range for testing, 256 to 511

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

// Constant once published.
struct Connector {
  const hdf5::Calls* calls;  // of the library
  STZ_CONNECTOR_FUNCTIONS(STZ_HDF5_MEMBER)
  const ConnectorClass* base;  // the library's pass-through connector
  ConnectorClass record;
  const Connector* next;
};

// The connector of the HDF5 whose code is at `return_address`; null if it has not loaded the connector. Thread-safe.
const Connector* connector_at(const void* return_address) noexcept;

// The record for the HDF5 whose code is at `return_address`. This is our record if HDF5's own record has the expected version. Otherwise it
// is HDF5's pass-through connector under our name, so that everything works as without the connector. If there is none, it is null and HDF5
// reports that it cannot load the connector.
const void* class_for(const void* return_address) noexcept;

// Replace the callbacks of connector_files.cpp and connector_datasets.cpp.
void replace_file_callbacks(ConnectorClass& record) noexcept;
void replace_dataset_callbacks(ConnectorClass& record) noexcept;

}  // namespace stz::connector
