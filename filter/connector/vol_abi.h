// The parts of HDF5's virtual object layer (VOL) that the connector uses: version 3 of the record of a connector's callbacks (HDF5 1.14 and
// 2.0 to 2.2), and the arguments of the callbacks that we replace. They are declared here so that one binary serves all these versions.
// connector.cpp checks the version when it is loaded. Names in comments are those of HDF5.
#pragma once
#include "hdf5/hdf5_abi.h"

namespace stz::connector {

using hdf5::herr_t;
using hdf5::hid_t;

constexpr unsigned class_version = 3;                                 // H5VL_VERSION
constexpr int plugin_type_connector = 1;                              // H5PL_TYPE_VOL
constexpr int by_self = 0;                                            // H5VL_OBJECT_BY_SELF
constexpr int current_level = 0;                                      // H5VL_GET_CONN_LVL_CURR
constexpr int file_is_accessible = 2, file_delete = 3;                // H5VL_FILE_IS_ACCESSIBLE, H5VL_FILE_DELETE
constexpr int object_file = 1, object_group = 2, object_dataset = 5;  // H5I_FILE, H5I_GROUP, H5I_DATASET
constexpr unsigned only_if_new = 4;                                   // H5F_ACC_EXCL

// The first fields of H5VL_loc_params_t.
struct Location {
  int object_type;
  int kind;
};

// H5VL_file_specific_args_t for the two operations that have no open file.
struct FileSpecific {
  int operation;
  const char* name;
  hid_t access;
  bool* accessible;
};

// H5VL_pass_through_info_t: the connector below a pass-through connector.
struct Below {
  hid_t connector;
  void* info;
};

using Slot = void (*)();  // a callback of HDF5 that we do not replace

// H5VL_class_t
struct ConnectorClass {
  unsigned version;
  int value;
  const char* name;
  unsigned connector_version;
  u64 capabilities;
  herr_t (*initialize)(hid_t properties);
  herr_t (*terminate)();
  struct {
    size_t size;
    void* (*copy)(const void* info);
    herr_t (*compare)(int* result, const void* a, const void* b);
    herr_t (*free)(void* info);
    herr_t (*to_string)(const void* info, char** text);
    herr_t (*from_string)(const char* text, void** info);
  } info;
  struct {
    void* (*get_object)(const void* object);
    herr_t (*get_context)(const void* object, void** context);
    void* (*wrap_object)(void* object, int type, void* context);
    void* (*unwrap_object)(void* object);
    herr_t (*free_context)(void* context);
  } wrap;
  Slot attribute[8];
  struct {
    void* (*create)(void* object, const Location* location, const char* name, hid_t links, hid_t type, hid_t space, hid_t creation,
                    hid_t access, hid_t transfer, void** request);
    Slot open;
    herr_t (*read)(size_t count, void* datasets[], hid_t memory_types[], hid_t memory_spaces[], hid_t file_spaces[], hid_t transfer,
                   void* buffers[], void** request);
    herr_t (*write)(size_t count, void* datasets[], hid_t memory_types[], hid_t memory_spaces[], hid_t file_spaces[], hid_t transfer,
                    const void* buffers[], void** request);
    Slot get, specific, optional;
    herr_t (*close)(void* dataset, hid_t transfer, void** request);
  } dataset;
  Slot datatype[6];
  struct {
    void* (*create)(const char* name, unsigned flags, hid_t creation, hid_t access, hid_t transfer, void** request);
    void* (*open)(const char* name, unsigned flags, hid_t access, hid_t transfer, void** request);
    Slot get;
    herr_t (*specific)(void* file, void* arguments, hid_t transfer, void** request);
    Slot optional;
    herr_t (*close)(void* file, hid_t transfer, void** request);
  } file;
  struct {
    Slot create, open, get, specific, optional;
    herr_t (*close)(void* group, hid_t transfer, void** request);
  } group;
  Slot link[6];
  Slot object[5];
  struct {
    herr_t (*get_class)(void* object, int level, const ConnectorClass** record);
    herr_t (*get_capabilities)(const void* info, u64* flags);
    Slot query_optional;
  } introspect;
  Slot request[6];
  Slot blob[4];
  Slot token[3];
  Slot optional;
};

}  // namespace stz::connector
