// Reading /proc/self/cgroup.
#include "host/device/control_groups.h"

#include <fstream>
#include <sstream>

namespace gridstride::host {
namespace {

bool has_name(const std::string& names, const std::string& wanted) {
  return ("," + names + ",").find("," + wanted + ",") != std::string::npos;
}

}  // namespace

std::string control_group_membership() {
  std::ifstream file("/proc/self/cgroup");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void for_each_control_group(const std::string& membership, const std::string& mount,
                            const std::string& controller,
                            const std::function<void(const std::string&, bool)>& visit) {
  std::istringstream lines(membership);
  std::string line;
  // number:controllers:path, with neither number nor controllers in version 2 ("0::/path").
  while (std::getline(lines, line)) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    if (path.empty() || path[0] != '/') continue;
    const bool is_unified = controllers.empty();
    if (!is_unified && !has_name(controllers, controller)) continue;
    const std::string root = is_unified ? mount : mount + "/" + controller;
    visit(root, is_unified);
    while (path.size() > 1) {
      visit(root + path, is_unified);
      path.erase(path.rfind('/'));
    }
  }
}

}  // namespace gridstride::host
