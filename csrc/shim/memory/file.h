// Open files by handle.
#ifndef GRIDSTRIDE_FILE_H
#define GRIDSTRIDE_FILE_H

#include "shim/handle_table.h"

namespace gridstride {

struct File {
  int descriptor = -1;

  void end() const;
};

using FileUse = HandleTable<File>::Use;

extern HandleTable<File> files;

}  // namespace gridstride

#endif
