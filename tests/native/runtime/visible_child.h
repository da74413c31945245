// The test program started again in another environment.
#pragma once

#include <string>

namespace runtime_test {

// What the program does when its first argument is such a role, in place of the suites.
bool is_child_role(const std::string& role);
int run_child(const std::string& role);

void set_program_path(const char* path);

// Runs the program in a role with one more environment variable; returns its output, without the
// last line end, or "exit N" when it failed.
std::string run_as_child(const std::string& role, const std::string& variable,
                         const std::string& value);

}  // namespace runtime_test
