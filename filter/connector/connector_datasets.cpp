// Datasets: reads decode the blocks that they need, datasets are created with the filter where a rule names them, writes are watched
// (transparent/). Everything else, and everything that fails here, is the library's.
#include <exception>
#include <vector>

#include "borrowed.h"
#include "transparent/compress_rules.h"
#include "transparent/program_creations.h"
#include "transparent/program_reads.h"
#include "transparent/program_writes.h"

namespace stz::connector {
namespace {

transparent::DatasetKey key_of(const void* dataset) { return transparent::key_of(nullptr, reinterpret_cast<uintptr_t>(dataset)); }

// True if it is done.
bool read_one(const Connector& connector, void* dataset, Id memory_type, Id memory_space, Id file_space, Id transfer, void* buffer) {
  bool done = false;
  const transparent::DatasetKey key = key_of(dataset);
  if (transparent::may_pay(key, file_space)) {
    const Borrowed id(connector, dataset, kObjectDataset);
    done = id.valid() &&
           transparent::read_needed_blocks(*connector.calls, key, {id.get(), memory_type, memory_space, file_space, transfer, buffer});
  }
  transparent::count_read(!done);
  return done;
}

// The reads of one call that are the library's.
struct Rest {
  std::vector<void*> datasets, buffers;
  std::vector<Id> memory_types, memory_spaces, file_spaces;
};

Status read_many(const Connector& connector, size_t count, void* datasets[], Id memory_types[], Id memory_spaces[], Id file_spaces[],
                 Id transfer, void* buffers[], void** request) {
  Rest rest;
  for (size_t i = 0; i < count; ++i) {
    if (read_one(connector, datasets[i], memory_types[i], memory_spaces[i], file_spaces[i], transfer, buffers[i])) continue;
    rest.datasets.push_back(datasets[i]);
    rest.buffers.push_back(buffers[i]);
    rest.memory_types.push_back(memory_types[i]);
    rest.memory_spaces.push_back(memory_spaces[i]);
    rest.file_spaces.push_back(file_spaces[i]);
  }
  if (rest.datasets.empty()) return 0;
  return connector.base->dataset.read(rest.datasets.size(), rest.datasets.data(), rest.memory_types.data(), rest.memory_spaces.data(),
                                      rest.file_spaces.data(), transfer, rest.buffers.data(), request);
}

Status dataset_read(size_t count, void* datasets[], Id memory_types[], Id memory_spaces[], Id file_spaces[], Id transfer, void* buffers[],
                    void** request) {
  const Connector* const connector = connector_at(__builtin_return_address(0));
  if (!connector) return -1;
  const auto by_library = [&] {
    return connector->base->dataset.read(count, datasets, memory_types, memory_spaces, file_spaces, transfer, buffers, request);
  };
  if (count == 1 && is_borrowed(datasets[0])) return by_library();
  if (count == 1 && read_one(*connector, datasets[0], memory_types[0], memory_spaces[0], file_spaces[0], transfer, buffers[0])) return 0;
  if (count == 1) return by_library();
  try {
    return read_many(*connector, count, datasets, memory_types, memory_spaces, file_spaces, transfer, buffers, request);
  } catch (const std::exception&) {  // memory
    return by_library();
  }
}

Status dataset_write(size_t count, void* datasets[], Id memory_types[], Id memory_spaces[], Id file_spaces[], Id transfer,
                     const void* buffers[], void** request) {
  const Connector* const connector = connector_at(__builtin_return_address(0));
  if (!connector) return -1;
  const transparent::WatchedWrite write;
  const Status status =
      connector->base->dataset.write(count, datasets, memory_types, memory_spaces, file_spaces, transfer, buffers, request);
  if (status >= 0 && count > 0 && write.rewrote()) {
    const Borrowed id(*connector, datasets[0], kObjectDataset);
    transparent::count_rewrite(connector->calls, id.get());
  }
  return status;
}

bool can_be_borrowed(const Location& location) {
  const int type = location.object_type;
  return location.kind == kBySelf && (type == kObjectFile || type == kObjectGroup || type == kObjectDataset);
}

void* dataset_create(void* object, const Location* location, const char* name, Id links, Id type, Id space, Id creation, Id access,
                     Id transfer, void** request) {
  const Connector* const connector = connector_at(__builtin_return_address(0));
  if (!connector) return nullptr;
  const auto create = [&](Id creation_list, Id access_list) {
    return connector->base->dataset.create(object, location, name, links, type, space, creation_list, access_list, transfer, request);
  };
  void* created = nullptr;
  if (name && !transparent::rules_are_empty() && can_be_borrowed(*location)) {
    const Borrowed id(*connector, object, location->object_type);
    if (id.valid()) {
      transparent::create_by_rules(connector->calls, {id.get(), name, type, space, creation, access},
                                   [&](Id creation_list, Id access_list) {
                                     created = create(creation_list, access_list);
                                     return created != nullptr;
                                   });
    }
  }
  return created ? created : create(creation, access);
}

Status dataset_close(void* dataset, Id transfer, void** request) {
  const Connector* const connector = connector_at(__builtin_return_address(0));
  if (!connector) return -1;
  if (give_back(*connector, dataset)) return 0;
  transparent::forget(key_of(dataset));
  return connector->base->dataset.close(dataset, transfer, request);
}

}  // namespace

void replace_dataset_callbacks(ConnectorClass& own) noexcept {
  own.wrap.wrap_object = wrap_object;
  own.dataset.create = dataset_create;
  own.dataset.read = dataset_read;
  own.dataset.write = dataset_write;
  own.dataset.close = dataset_close;
}

}  // namespace stz::connector
