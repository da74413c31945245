// How a table of memory answers questions about a range.
#ifndef GRIDSTRIDE_MEMBERSHIP_H
#define GRIDSTRIDE_MEMBERSHIP_H

namespace gridstride {

enum class Membership {
  inside,   // memory of the table's that may be touched
  outside,  // the table knows none of it
  astride,  // some is the table's, but not all, or of another device, or in no one live block
};

// What has been declared of a byte.
enum class BlockAt {
  unknown,    // the table does not have it
  undivided,  // nothing was declared of its memory
  live,       // it lies in a live block
  dead,       // its memory is divided, and no live block has it
};

}  // namespace gridstride

#endif
