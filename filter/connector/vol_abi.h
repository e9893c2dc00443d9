// What the connector needs to know of HDF5's virtual object layer (VOL): the record of a connector's callbacks, version 3, which is that of
// HDF5 1.14 and 2.0 to 2.2, and the arguments of the callbacks that are ours. Declared here so that one binary serves all of them; whether
// a library's record is this one is checked when it loads the connector (connector.cpp). Names in comments are those of HDF5.
#ifndef STZ_CONNECTOR_VOL_ABI_H
#define STZ_CONNECTOR_VOL_ABI_H

#include "hdf5/hdf5_abi.h"

namespace stz::connector {

using hdf5::Id;
using hdf5::Status;

constexpr unsigned kClassVersion = 3;                                 // H5VL_VERSION
constexpr int kPluginTypeConnector = 1;                               // H5PL_TYPE_VOL
constexpr int kBySelf = 0;                                            // H5VL_OBJECT_BY_SELF
constexpr int kCurrentLevel = 0;                                      // H5VL_GET_CONN_LVL_CURR
constexpr int kFileIsAccessible = 2, kFileDelete = 3;                 // H5VL_FILE_IS_ACCESSIBLE, H5VL_FILE_DELETE
constexpr int kObjectFile = 1, kObjectGroup = 2, kObjectDataset = 5;  // H5I_FILE, H5I_GROUP, H5I_DATASET
constexpr unsigned kOnlyIfNew = 4;                                    // H5F_ACC_EXCL

// H5VL_loc_params_t begins with these.
struct Location {
  int object_type;
  int kind;
};

// H5VL_file_specific_args_t of the two operations that have no file yet.
struct FileSpecific {
  int operation;
  const char* name;
  Id access;
  bool* accessible;
};

// H5VL_pass_through_info_t: what is below a connector that passes calls through.
struct Below {
  Id connector;
  void* info;
};

using Slot = void (*)();  // a callback that is the library's own

// H5VL_class_t
struct ConnectorClass {
  unsigned version;
  int value;
  const char* name;
  unsigned connector_version;
  uint64_t capabilities;
  Status (*initialize)(Id properties);
  Status (*terminate)();
  struct {
    size_t size;
    void* (*copy)(const void* info);
    Status (*compare)(int* result, const void* a, const void* b);
    Status (*free)(void* info);
    Status (*to_string)(const void* info, char** text);
    Status (*from_string)(const char* text, void** info);
  } info;
  struct {
    void* (*get_object)(const void* object);
    Status (*get_context)(const void* object, void** context);
    void* (*wrap_object)(void* object, int type, void* context);
    void* (*unwrap_object)(void* object);
    Status (*free_context)(void* context);
  } wrap;
  Slot attribute[8];
  struct {
    void* (*create)(void* object, const Location* location, const char* name, Id links, Id type, Id space, Id creation, Id access,
                    Id transfer, void** request);
    Slot open;
    Status (*read)(size_t count, void* datasets[], Id memory_types[], Id memory_spaces[], Id file_spaces[], Id transfer, void* buffers[],
                   void** request);
    Status (*write)(size_t count, void* datasets[], Id memory_types[], Id memory_spaces[], Id file_spaces[], Id transfer,
                    const void* buffers[], void** request);
    Slot get, specific, optional;
    Status (*close)(void* dataset, Id transfer, void** request);
  } dataset;
  Slot datatype[6];
  struct {
    void* (*create)(const char* name, unsigned flags, Id creation, Id access, Id transfer, void** request);
    void* (*open)(const char* name, unsigned flags, Id access, Id transfer, void** request);
    Slot get;
    Status (*specific)(void* file, void* arguments, Id transfer, void** request);
    Slot optional;
    Status (*close)(void* file, Id transfer, void** request);
  } file;
  struct {
    Slot create, open, get, specific, optional;
    Status (*close)(void* group, Id transfer, void** request);
  } group;
  Slot link[6];
  Slot object[5];
  struct {
    Status (*get_class)(void* object, int level, const ConnectorClass** found);
    Status (*get_capabilities)(const void* info, uint64_t* flags);
    Slot query_optional;
  } introspect;
  Slot request[6];
  Slot blob[4];
  Slot token[3];
  Slot optional;
};

}  // namespace stz::connector

#endif
