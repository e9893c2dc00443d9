// File callbacks. If the program does not set the connector below this one, HDF5's native connector is used. HDF5's pass-through connector
// cannot open files in that case.
#include <unistd.h>

#include "connector/borrowed.h"
#include "connector/connector.h"

namespace stz::connector {
namespace {

// The native connector as the one below.
class NativeBelow {
 public:
  explicit NativeBelow(const Connector& connector)
      : connector_(connector), below_{connector.H5VLget_connector_id_by_name("native"), nullptr} {}
  ~NativeBelow() {
    if (valid()) connector_.H5Idec_ref(below_.connector);
  }
  NativeBelow(const NativeBelow&) = delete;
  NativeBelow& operator=(const NativeBelow&) = delete;
  bool valid() const { return below_.connector >= 0; }
  const Below* get() const { return &below_; }

 private:
  const Connector& connector_;
  const Below below_;
};

// A file access list that sets the connector below: the given list, or a copy.
class FileAccess {
 public:
  FileAccess(const Connector& connector, hid_t access) : connector_(connector), given_(access) {
    if (connector.H5Pget_vol_info(access, &below_) < 0 || below_) return;
    hid_t self = -1;
    const NativeBelow native(connector);
    if (!native.valid() || connector.H5Pget_vol_id(access, &self) < 0) return;
    copy_ = copy_with(self, native.get());
    connector.H5Idec_ref(self);
    if (copy_ >= 0) connector.H5Pget_vol_info(copy_, &below_);
  }
  ~FileAccess() {
    hdf5::SavedErrorStack errors(*connector_.calls);  // keeps the library's errors about the file
    errors.keep();
    if (copy_ >= 0) connector_.calls->H5Pclose(copy_);
    if (below_) connector_.record.info.free(below_);
  }
  FileAccess(const FileAccess&) = delete;
  FileAccess& operator=(const FileAccess&) = delete;
  hid_t get() const { return copy_ >= 0 ? copy_ : given_; }

  // Calls open(list) with the connector below, only for its errors. HDF5's pass-through connector loses them when it closes its lists, and
  // programs depend on them (h5py creates the file on "no such file"). `open` is expected to fail. Not used with MPI: ranks open files
  // together, and perhaps only one of them failed.
  template <class Open>
  void repeat_for_errors(hid_t transfer, Open open) const {
    const auto* const below = static_cast<const Below*>(below_);
    const hid_t list = below && !uses_mpi() ? copy_with(below->connector, below->info) : -1;
    if (list < 0) return;
    if (void* const file = open(list)) connector_.H5VLfile_close(file, below->connector, transfer, nullptr);
    hdf5::SavedErrorStack errors(*connector_.calls);
    errors.keep();
    connector_.calls->H5Pclose(list);
  }

 private:
  bool uses_mpi() const {
    unsigned long flags = 0;
    const hid_t driver = connector_.calls->H5Pget_driver(given_);
    return driver < 0 || connector_.calls->H5FDdriver_query(driver, &flags) < 0 || (flags & hdf5::driver_has_mpi);
  }

  hid_t copy_with(hid_t connector, const void* info) const {
    const hid_t copy = connector_.H5Pcopy(given_);
    if (copy < 0 || connector_.H5Pset_vol(copy, connector, info) >= 0) return copy;
    connector_.calls->H5Pclose(copy);
    return -1;
  }

  const Connector& connector_;
  hid_t given_, copy_ = -1;
  void* below_ = nullptr;  // points to a Below
};

void* file_create(const char* name, unsigned flags, hid_t creation, hid_t access, hid_t transfer, void** request) {
  const Connector* const connector = connector_at(__builtin_return_address(0));
  if (!connector) return nullptr;
  const FileAccess list(*connector, access);
  // An attempt that fails late leaves a file, and a second attempt would report that file instead of the first error.
  const bool can_repeat = !(flags & only_if_new) || ::access(name, F_OK) == 0;
  void* const file = connector->base->file.create(name, flags, creation, list.get(), transfer, request);
  if (!file && can_repeat) {
    list.repeat_for_errors(transfer,
                           [&](hid_t native) { return connector->H5VLfile_create(name, flags, creation, native, transfer, nullptr); });
  }
  return file;
}

void* file_open(const char* name, unsigned flags, hid_t access, hid_t transfer, void** request) {
  const Connector* const connector = connector_at(__builtin_return_address(0));
  if (!connector) return nullptr;
  const FileAccess list(*connector, access);
  void* const file = connector->base->file.open(name, flags, list.get(), transfer, request);
  if (!file)
    list.repeat_for_errors(transfer, [&](hid_t native) { return connector->H5VLfile_open(name, flags, native, transfer, nullptr); });
  return file;
}

herr_t file_specific(void* file, void* arguments, hid_t transfer, void** request) {
  const Connector* const connector = connector_at(__builtin_return_address(0));
  if (!connector) return -1;
  const int operation = *static_cast<const int*>(arguments);
  if (operation != file_is_accessible && operation != file_delete)
    return connector->base->file.specific(file, arguments, transfer, request);
  auto* const given = static_cast<FileSpecific*>(arguments);
  hdf5::SavedErrorStack errors(*connector->calls);
  if (operation == file_is_accessible) errors.keep();  // HDF5 tries all connectors for a file that cannot be opened
  const FileAccess list(*connector, given->access);
  const hid_t before = given->access;
  given->access = list.get();  // changed in place, because the length of the arguments is unknown
  const herr_t status = connector->base->file.specific(file, arguments, transfer, request);
  given->access = before;
  return status;
}

herr_t file_close(void* file, hid_t transfer, void** request) {
  const Connector* const connector = connector_at(__builtin_return_address(0));
  if (!connector) return -1;
  return give_back(*connector, file) ? 0 : connector->base->file.close(file, transfer, request);
}

herr_t group_close(void* group, hid_t transfer, void** request) {
  const Connector* const connector = connector_at(__builtin_return_address(0));
  if (!connector) return -1;
  return give_back(*connector, group) ? 0 : connector->base->group.close(group, transfer, request);
}

herr_t get_capabilities(const void* info, u64* flags) {
  const Connector* const connector = connector_at(__builtin_return_address(0));
  if (!connector) return -1;
  if (info) return connector->base->introspect.get_capabilities(info, flags);
  const NativeBelow below(*connector);
  return below.valid() ? connector->base->introspect.get_capabilities(below.get(), flags) : -1;
}

}  // namespace

void replace_file_callbacks(ConnectorClass& record) noexcept {
  record.file.create = file_create;
  record.file.open = file_open;
  record.file.specific = file_specific;
  record.file.close = file_close;
  record.group.close = group_close;
  record.introspect.get_capabilities = get_capabilities;
}

}  // namespace stz::connector
