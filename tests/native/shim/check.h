// One line per check, and words for the calls that most checks make.
#pragma once

#include <initializer_list>
#include <string>

#include "library.h"

void check(bool holds, const std::string& what);
void check_equal(double actual, double expected, const std::string& what);

// A line about skipped checks, with the reason.
void skip(const std::string& what);

// How many checks have failed.
int failures();

// Statuses as written in the header.
std::string status_name(int32_t status);
void check_status(int32_t actual, int32_t expected, const std::string& what);

// Fills the command block's operands, the unnamed ones with a NaN that any use would refuse.
void set_operands(int device, int32_t stream, std::initializer_list<double> operands);

// Device memory; 0 after a failure, which the checks that follow will show.
double allocate(int device, double bytes);
int32_t free_memory(int device, double address);

int32_t make_stream(int device);
int32_t make_event(int device, int timing);

struct Tally {
  double allocations, bytes, streams, events, slabs, slab_bytes, reservations, mapped_bytes, graphs,
      modules, programs;
};
Tally tally();
bool operator==(const Tally& one, const Tally& other);

// Whether it is the host library: its devices hold only the memory of this program.
bool is_host();

// The id of a wrapped call.
int32_t call_id(const std::string& name);
