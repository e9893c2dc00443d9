// Dataset callbacks: reads decode only the needed blocks, threads read and write whole datasets, and datasets that a rule matches are
// created with the filter (intercept/).
// Everything else, and everything that fails here, is left to the library.
#include <exception>
#include <vector>

#include "connector/borrowed.h"
#include "intercept/compress_rules.h"
#include "intercept/program_creations.h"
#include "intercept/program_reads.h"
#include "intercept/whole_requests.h"

namespace stz::connector {
namespace {

intercept::DatasetKey key_of(const void* dataset) { return intercept::key_of(nullptr, reinterpret_cast<uintptr_t>(dataset)); }

// Returns true if the read was done here.
bool read_one(const Connector& connector, void* dataset, hid_t memory_type, hid_t memory_space, hid_t file_space, hid_t transfer,
              void* buffer) {
  bool done = false;
  const intercept::DatasetKey key = key_of(dataset);
  const bool by_threads = intercept::threads_are_wanted(), by_blocks = intercept::worth_reading_directly(key, file_space);
  if (by_threads || by_blocks) {
    const Borrowed id(connector, dataset, object_dataset);
    const intercept::ReadArguments arguments{id.get(), memory_type, memory_space, file_space, transfer, buffer};
    done = id.valid() && ((by_threads && intercept::read_whole_by_threads(*connector.calls, key, arguments)) ||
                          (by_blocks && intercept::read_needed_blocks(*connector.calls, key, arguments)));
  }
  intercept::count_read(!done);
  return done;
}

// Returns true if the write was done here.
bool write_one(const Connector& connector, void* dataset, hid_t memory_type, hid_t memory_space, hid_t file_space, hid_t transfer,
               const void* buffer) {
  if (!intercept::threads_are_wanted()) return false;
  const Borrowed id(connector, dataset, object_dataset);
  const intercept::ReadArguments arguments{id.get(), memory_type, memory_space, file_space, transfer, const_cast<void*>(buffer)};
  return id.valid() && intercept::write_whole_by_threads(*connector.calls, key_of(dataset), arguments);
}

// The arguments of a read or write of several datasets. Element: const void for writes.
template <class Element>
struct Transfers {
  std::vector<void*> datasets;
  std::vector<Element*> buffers;
  std::vector<hid_t> memory_types, memory_spaces, file_spaces;
};

// Does what one(...) can do of a call, and leaves the rest of it to the library.
template <class Element, class One>
herr_t transfer_all(herr_t (*by_library)(size_t, void*[], hid_t[], hid_t[], hid_t[], hid_t, Element*[], void**), One one,
                    const Connector& connector, size_t count, void* datasets[], hid_t memory_types[], hid_t memory_spaces[],
                    hid_t file_spaces[], hid_t transfer, Element* buffers[], void** request) {
  const auto everything = [&] { return by_library(count, datasets, memory_types, memory_spaces, file_spaces, transfer, buffers, request); };
  if (count == 1 && is_borrowed(datasets[0])) return everything();
  if (count == 1)
    return one(connector, datasets[0], memory_types[0], memory_spaces[0], file_spaces[0], transfer, buffers[0]) ? 0 : everything();
  try {
    Transfers<Element> rest;
    for (size_t i = 0; i < count; ++i) {
      if (one(connector, datasets[i], memory_types[i], memory_spaces[i], file_spaces[i], transfer, buffers[i])) continue;
      rest.datasets.push_back(datasets[i]);
      rest.buffers.push_back(buffers[i]);
      rest.memory_types.push_back(memory_types[i]);
      rest.memory_spaces.push_back(memory_spaces[i]);
      rest.file_spaces.push_back(file_spaces[i]);
    }
    if (rest.datasets.empty()) return 0;
    return by_library(rest.datasets.size(), rest.datasets.data(), rest.memory_types.data(), rest.memory_spaces.data(),
                      rest.file_spaces.data(), transfer, rest.buffers.data(), request);
  } catch (const std::exception&) {  // out of memory
    return everything();
  }
}

herr_t dataset_read(size_t count, void* datasets[], hid_t memory_types[], hid_t memory_spaces[], hid_t file_spaces[], hid_t transfer,
                    void* buffers[], void** request) {
  const Connector* const connector = connector_at(__builtin_return_address(0));
  if (!connector) return -1;
  return transfer_all(connector->base->dataset.read, read_one, *connector, count, datasets, memory_types, memory_spaces, file_spaces,
                      transfer, buffers, request);
}

herr_t dataset_write(size_t count, void* datasets[], hid_t memory_types[], hid_t memory_spaces[], hid_t file_spaces[], hid_t transfer,
                     const void* buffers[], void** request) {
  const Connector* const connector = connector_at(__builtin_return_address(0));
  if (!connector) return -1;
  return transfer_all(connector->base->dataset.write, write_one, *connector, count, datasets, memory_types, memory_spaces, file_spaces,
                      transfer, buffers, request);
}

bool can_be_borrowed(const Location& location) {
  const int type = location.object_type;
  return location.kind == by_self && (type == object_file || type == object_group || type == object_dataset);
}

void* dataset_create(void* object, const Location* location, const char* name, hid_t links, hid_t type, hid_t space, hid_t creation,
                     hid_t access, hid_t transfer, void** request) {
  const Connector* const connector = connector_at(__builtin_return_address(0));
  if (!connector) return nullptr;
  const auto create = [&](hid_t creation_list, hid_t access_list) {
    return connector->base->dataset.create(object, location, name, links, type, space, creation_list, access_list, transfer, request);
  };
  void* created = nullptr;
  if (name && !intercept::rules_are_empty() && can_be_borrowed(*location)) {
    const Borrowed id(*connector, object, location->object_type);
    if (id.valid()) {
      intercept::create_by_rules(connector->calls, {id.get(), name, type, space, creation, access},
                                 [&](hid_t creation_list, hid_t access_list) {
                                   created = create(creation_list, access_list);
                                   return created != nullptr;
                                 });
    }
  }
  return created ? created : create(creation, access);
}

herr_t dataset_close(void* dataset, hid_t transfer, void** request) {
  const Connector* const connector = connector_at(__builtin_return_address(0));
  if (!connector) return -1;
  if (give_back(*connector, dataset)) return 0;
  intercept::invalidate(key_of(dataset));
  intercept::forget_whole(key_of(dataset));
  return connector->base->dataset.close(dataset, transfer, request);
}

}  // namespace

void replace_dataset_callbacks(ConnectorClass& record) noexcept {
  record.wrap.wrap_object = wrap_object;
  record.dataset.create = dataset_create;
  record.dataset.read = dataset_read;
  record.dataset.write = dataset_write;
  record.dataset.close = dataset_close;
}

}  // namespace stz::connector
