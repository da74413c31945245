// Reading line tables: DWARF 4, section 6.2.
#include "host/execution/source_lines.h"

#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

namespace gridstride::host {
namespace {

// Reads zeros behind the end.
class Reader {
 public:
  Reader(const unsigned char* at, const unsigned char* end) : at_(at), end_(end) {}

  bool at_end() const { return at_ == end_; }

  template <typename Value>
  Value number() {
    Value value{};
    if (static_cast<size_t>(end_ - at_) < sizeof value) {
      at_ = end_;
    } else {
      std::memcpy(&value, at_, sizeof value);
      at_ += sizeof value;
    }
    return value;
  }

  uint64_t leb(bool is_signed = false) {
    uint64_t value = 0;
    unsigned shift = 0;
    unsigned char byte = 0x80;
    for (; (byte & 0x80) != 0; shift += 7) {
      byte = number<unsigned char>();
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
    }
    return is_signed && (byte & 0x40) != 0 && shift < 64 ? value | ~uint64_t{0} << shift : value;
  }

  std::string_view text() {
    const size_t length = strnlen(reinterpret_cast<const char*>(at_), end_ - at_);
    const std::string_view found(reinterpret_cast<const char*>(at_), length);
    at_ += length + (at_ + length == end_ ? 0 : 1);
    return found;
  }

  Reader part(uint64_t bytes) {
    const uint64_t rest = end_ - at_;
    const unsigned char* const start = at_;
    at_ += bytes < rest ? bytes : rest;
    return {start, at_};
  }

 private:
  const unsigned char* at_;
  const unsigned char* end_;
};

// The compiler is told to name the language's headers like the system's.
bool is_users(std::string_view file) {
  return !file.empty() && file.substr(0, 5) != "/usr/" && file.substr(0, 11) != "gridstride ";
}

// The files of a unit: number 0 is none.
std::vector<std::string> read_files(Reader& header) {
  std::vector<std::string_view> directories = {""};
  for (auto name = header.text(); !name.empty(); name = header.text()) directories.push_back(name);
  std::vector<std::string> files = {""};
  for (auto name = header.text(); !name.empty(); name = header.text()) {
    const uint64_t directory = header.leb();
    header.leb();  // time
    header.leb();  // size
    std::string path(directory < directories.size() && name[0] != '/' ? directories[directory]
                                                                      : std::string_view{});
    if (!path.empty() && path.back() != '/') path += '/';
    files.push_back((path == "./" ? "" : path) + std::string(name));
  }
  return files;
}

struct Row {
  uint64_t address = 0;
  uint64_t file = 1;
  uint64_t line = 1;
};

std::string find_in_unit(Reader unit, uint64_t target) {
  const auto version = unit.number<uint16_t>();
  if (version < 2 || version > 4) return {};
  Reader header = unit.part(unit.number<uint32_t>());
  const auto unit_bytes = header.number<uint8_t>();
  if (version == 4) header.number<uint8_t>();  // operations of an instruction
  header.number<uint8_t>();                    // whether rows are statements
  const auto line_base = header.number<int8_t>();
  const auto line_range = header.number<uint8_t>();
  const auto first_special = header.number<uint8_t>();
  if (line_range == 0 || first_special == 0) return {};
  uint8_t operands[256] = {};
  for (unsigned i = 1; i < first_special; ++i) operands[i] = header.number<uint8_t>();
  const std::vector<std::string> files = read_files(header);

  Row row, before;
  bool has_before = false;
  std::string last_of_user;
  // Where the target is, if it is between the row before and this one.
  const auto end_row = [&](bool ends) -> std::string {
    const bool covers = has_before && before.address <= target && target < row.address;
    const char* word = " (near ";
    if (has_before && before.line != 0 && before.file < files.size() &&
        is_users(files[before.file])) {
      last_of_user = files[before.file] + ":" + std::to_string(before.line);
      word = " (at ";
    }
    if (covers && !last_of_user.empty()) return word + last_of_user + ")";
    before = row;
    has_before = !ends;
    if (ends) {
      row = {};
      last_of_user.clear();
    }
    return {};
  };
  while (!unit.at_end()) {
    const auto code = unit.number<uint8_t>();
    std::string place;
    if (code >= first_special) {
      const unsigned step = code - first_special;
      row.address += uint64_t{step / line_range} * unit_bytes;
      row.line += line_base + static_cast<int>(step % line_range);
      place = end_row(false);
    } else if (code == 0) {
      Reader extended = unit.part(unit.leb());
      const auto kind = extended.number<uint8_t>();
      if (kind == 1) place = end_row(true);
      if (kind == 2) row.address = extended.number<uint64_t>();
    } else if (code == 1) {
      place = end_row(false);
    } else if (code == 2) {
      row.address += unit.leb() * unit_bytes;
    } else if (code == 3) {
      row.line += unit.leb(true);
    } else if (code == 4) {
      row.file = unit.leb();
    } else if (code == 8) {
      row.address += uint64_t{(255u - first_special) / line_range} * unit_bytes;
    } else if (code == 9) {
      row.address += unit.number<uint16_t>();
    } else {
      for (unsigned i = 0; i < operands[code]; ++i) unit.leb();
    }
    if (!place.empty()) return place;
  }
  return {};
}

struct Tables {
  std::mutex lock;
  std::map<uintptr_t, std::vector<unsigned char>> by_base;
};

Tables& tables() {
  static Tables* const instance = new Tables;
  return *instance;
}

}  // namespace

SourceLines::SourceLines(uintptr_t base, const unsigned char* table, size_t bytes) : base_(base) {
  if (bytes == 0) return;
  const std::lock_guard<std::mutex> lock(tables().lock);
  tables().by_base[base].assign(table, table + bytes);
}

SourceLines::~SourceLines() {
  const std::lock_guard<std::mutex> lock(tables().lock);
  tables().by_base.erase(base_);
}

std::string source_place(uintptr_t base, uintptr_t instruction) {
  const std::lock_guard<std::mutex> lock(tables().lock);
  const auto entry = tables().by_base.find(base);
  if (entry == tables().by_base.end() || instruction < base) return {};
  const std::vector<unsigned char>& table = entry->second;
  Reader units(table.data(), table.data() + table.size());
  std::string place;
  while (place.empty() && !units.at_end()) {
    place = find_in_unit(units.part(units.number<uint32_t>()), instruction - base);
  }
  return place;
}

}  // namespace gridstride::host
