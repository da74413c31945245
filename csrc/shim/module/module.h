// Modules by handle.
#ifndef GRIDSTRIDE_MODULE_H
#define GRIDSTRIDE_MODULE_H

#include "shim/handle_table.h"
#include "shim/module/loaded_module.h"

namespace gridstride {

struct Module {
  LoadedModule* loaded = nullptr;  // its own

  void end() const;
};

using ModuleUse = HandleTable<Module>::Use;

extern HandleTable<Module> modules;

}  // namespace gridstride

#endif
