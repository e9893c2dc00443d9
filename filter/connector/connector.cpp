// Makes the records, and has the callbacks that belong to no object. Records are published once, never change and are never freed.
#include "connector/connector.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <new>
#include <optional>

#include "base/published_list.h"

namespace stz::connector {
namespace {

PublishedList<Connector> connectors;

// A connector of another version under our name.
struct Renamed {
  const hdf5::Library* library;
  const void* record;
  const Renamed* next;
};
PublishedList<Renamed> renamed_connectors;

// HDF5's own pass-through connector: a variable since 2.0, registered by a function before.
const ConnectorClass* pass_through(const hdf5::Library& library) {
  if (const void* const variable = hdf5::library_function(library, "H5VL_pass_through_g"))
    return static_cast<const ConnectorClass*>(variable);
  hid_t (*enlist)() = nullptr;
  herr_t (*get_class)(void*, hid_t, int, const ConnectorClass**) = nullptr;
  if (!hdf5::find_function(library, "H5VL_pass_through_register", enlist) ||
      !hdf5::find_function(library, "H5VLintrospect_get_conn_cls", get_class))
    return nullptr;
  const ConnectorClass* record = nullptr;
  int any_object = 0;  // must not be null, is not used
  const hid_t id = enlist();
  return id >= 0 && get_class(&any_object, id, current_level, &record) >= 0 ? record : nullptr;
}

// The size of a record that is a variable of the library; 0 if unknown.
size_t size_of_record(const ConnectorClass* record) {
  Dl_info object;
  void* symbol = nullptr;
  const bool is_variable = dladdr1(record, &object, &symbol, RTLD_DL_SYMENT) && symbol && object.dli_saddr == record;
  return is_variable ? static_cast<const ElfW(Sym)*>(symbol)->st_size : 0;
}

bool is_known(const hdf5::Library& library, const ConnectorClass& record) {
  unsigned major = 0, minor = 0, release = 0;
  if (library.H5get_libversion(&major, &minor, &release) < 0 || (major == 1 && minor != 14)) return false;
  const size_t size = size_of_record(&record);
  return record.version == class_version && (size == 0 || size == sizeof(ConnectorClass));
}

herr_t initialize(hid_t) { return 0; }
herr_t terminate() { return 0; }

bool says_what_is_below(const char* text) {
  constexpr const char* begin = "under_vol=";
  if (std::strncmp(text, begin, std::strlen(begin)) != 0) return false;
  const char* const rest = text + std::strlen(begin);
  const size_t digits = std::strspn(rest, "0123456789");
  return digits > 0 && digits < 9 && std::strcmp(rest + digits, ";under_info={}") == 0;
}

// Parses the text after the connector's name, in the form that to_string writes if the connector below has no text of its own: HDF5's
// function reads past the end of other texts. HDF5 2.0 and later crash if this callback fails. So other text is ignored, which means that
// the native connector is below.
herr_t info_from_string(const char* text, void** info) {
  const Connector* const connector = connector_at(__builtin_return_address(0));
  *info = nullptr;
  if (!connector || !text || !says_what_is_below(text)) return 0;
  const hdf5::SuppressErrors suppressed(*connector->calls);
  if (connector->base->info.from_string(text, info) < 0) *info = nullptr;
  if (*info && static_cast<const Below*>(*info)->connector < 0) {  // no such connector
    connector->base->info.free(*info);
    *info = nullptr;
  }
  return 0;
}

herr_t get_class(void* object, int level, const ConnectorClass** record) {
  const Connector* const connector = connector_at(__builtin_return_address(0));
  if (!connector) return -1;
  if (level != current_level) return connector->base->introspect.get_class(object, level, record);
  *record = &connector->record;
  return 0;
}

const void* make_connector(const hdf5::Library& library, const hdf5::Calls* calls, const ConnectorClass& base) {
  auto* const made = new (std::nothrow) Connector{};
  if (!made) return nullptr;
  Connector& functions = *made;
  made->calls = calls;
  bool complete = calls && calls->complete;
  STZ_CONNECTOR_FUNCTIONS(STZ_HDF5_LOOK_UP)
  made->base = &base;
  made->record = base;
  made->record.name = connector_name;
  made->record.value = connector_value;
  made->record.initialize = initialize;
  made->record.terminate = terminate;
  if (complete) {
    made->record.info.from_string = info_from_string;
    made->record.introspect.get_class = get_class;
    replace_file_callbacks(made->record);
    replace_dataset_callbacks(made->record);
  }
  return &connectors.publish(made)->record;
}

// In all versions so far these two fields are at these places.
const void* rename(const hdf5::Library& library, const ConnectorClass& base) {
  const size_t size = size_of_record(&base);
  if (size < offsetof(ConnectorClass, connector_version)) return nullptr;
  if (const Renamed* const renamed = renamed_connectors.find([&](const Renamed& entry) { return entry.library == &library; }))
    return renamed->record;
  auto* const copy = static_cast<unsigned char*>(::operator new(size, std::nothrow));
  auto* const entry = copy ? new (std::nothrow) Renamed{&library, copy, nullptr} : nullptr;
  if (!entry) {
    ::operator delete(copy);
    return nullptr;
  }
  std::memcpy(copy, &base, size);
  std::memcpy(copy + offsetof(ConnectorClass, value), &connector_value, sizeof connector_value);
  std::memcpy(copy + offsetof(ConnectorClass, name), &connector_name, sizeof connector_name);
  return renamed_connectors.publish(entry)->record;
}

}  // namespace

const Connector* connector_at(const void* return_address) noexcept {
  const hdf5::Library* const library = hdf5::calling_library(return_address);
  return connectors.find([&](const Connector& entry) { return entry.calls && entry.calls->library == library; });
}

const void* class_for(const void* return_address) noexcept {
  const hdf5::Library* const library = hdf5::calling_library(return_address);
  if (!library->reachable) return nullptr;
  if (const Connector* const made = connector_at(return_address)) return &made->record;
  const hdf5::Calls* const calls = hdf5::calls_of(*library);  // the caller is the library itself
  std::optional<hdf5::SavedErrorStack> errors;                // HDF5 tries connectors when it cannot open a file
  if (calls && calls->complete) errors.emplace(*calls).keep();
  const ConnectorClass* const base = pass_through(*library);
  if (!base) return nullptr;
  return is_known(*library, *base) ? make_connector(*library, calls, *base) : rename(*library, *base);
}

}  // namespace stz::connector
