// The entry points by which HDF5 loads the connector from its plug-in path.
#include "connector/connector.h"

extern "C" {

__attribute__((visibility("default"))) int H5PLget_plugin_type() { return stz::connector::plugin_type_connector; }

__attribute__((visibility("default"))) const void* H5PLget_plugin_info() { return stz::connector::class_for(__builtin_return_address(0)); }

}  // extern "C"
