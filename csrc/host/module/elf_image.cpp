// Reading ELF files. The seal of an image finds damage; these checks find truncation and files of
// other kinds, also without a seal.
#include "host/module/elf_image.h"

#if defined(__ELF__)

#include <elf.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

namespace gridstride::host {
namespace {

#if defined(__x86_64__)
constexpr unsigned own_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned own_machine = EM_AARCH64;
#else
constexpr unsigned own_machine = EM_NONE;  // the system's loader compares
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
constexpr unsigned own_byte_order = ELFDATA2LSB;
#else
constexpr unsigned own_byte_order = ELFDATA2MSB;
#endif

// The machine number of cubins.
constexpr unsigned cuda_machine = 190;

// No library is mapped over more than this.
constexpr std::uint64_t max_memory = std::uint64_t{1} << 40;

[[noreturn]] void refuse(const std::string& text) {
  throw ImageError(cudaErrorInvalidKernelImage, text);
}

[[noreturn]] void refuse_foreign(const std::string& text) {
  throw ImageError(cudaErrorNoKernelImageForDevice, text);
}

[[noreturn]] void refuse_damaged(const std::string& part) {
  refuse("the image is damaged: " + part);
}

template <typename Value>
Value read(const ImageView& image, std::size_t offset, const char* part) {
  if (!image.contains(offset, sizeof(Value))) refuse_damaged(part);
  Value value;
  std::memcpy(&value, image.data + offset, sizeof value);
  return value;
}

// A table in the file, of which a Value is at the start of each element.
template <typename Value>
std::vector<Value> read_table(const ImageView& image, std::uint64_t offset, std::uint64_t count,
                              const char* part) {
  if (count > image.bytes / sizeof(Value) || !image.contains(offset, count * sizeof(Value))) {
    refuse("the image is truncated or damaged: " + std::string(part) + " lie beyond its " +
           std::to_string(image.bytes) + " bytes");
  }
  std::vector<Value> table(count);
  if (count != 0) std::memcpy(table.data(), image.data + offset, count * sizeof(Value));
  return table;
}

Elf64_Ehdr read_header(const ImageView& image) {
  return read<Elf64_Ehdr>(image, 0, "it ends in its header");
}

std::vector<Elf64_Phdr> read_program_headers(const ImageView& image) {
  const Elf64_Ehdr header = read_header(image);
  return read_table<Elf64_Phdr>(image, header.e_phoff, header.e_phnum, "its program headers");
}

std::vector<Elf64_Shdr> read_section_headers(const ImageView& image) {
  const Elf64_Ehdr header = read_header(image);
  if (header.e_shoff == 0) return {};
  return read_table<Elf64_Shdr>(image, header.e_shoff, header.e_shnum, "its section headers");
}

void check_identity(const Elf64_Ehdr& header) {
  if (header.e_machine == cuda_machine) {
    refuse_foreign(
        "the image is a cubin, which is for GPUs: the host device loads shared "
        "libraries");
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != own_byte_order) {
    refuse_foreign(
        "the image is for another processor: its words or their bytes are not those of "
        "this one");
  }
  if (own_machine != EM_NONE && header.e_machine != own_machine) {
    refuse_foreign("the image is for another processor: its machine is number " +
                   std::to_string(header.e_machine) + ", this one's is " +
                   std::to_string(own_machine));
  }
  if (header.e_type != ET_DYN) refuse("the image is an ELF file but no shared library");
  if (header.e_ident[EI_VERSION] != EV_CURRENT || header.e_phentsize != sizeof(Elf64_Phdr) ||
      (header.e_shoff != 0 && header.e_shentsize != sizeof(Elf64_Shdr))) {
    refuse_damaged("its header is not one");
  }
}

bool is_power_of_two(std::uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

// The loader maps segments one after the other into one range as long as all of them.
void check_loaded_segments(const ImageView& image, const std::vector<Elf64_Phdr>& headers) {
  std::uint64_t mapped_until = 0;
  for (const Elf64_Phdr& segment : headers) {
    if (segment.p_type == PT_INTERP) refuse("the image is a program and no shared library");
    if (segment.p_type != PT_LOAD) continue;
    if (!image.contains(segment.p_offset, segment.p_filesz)) {
      refuse("the image is truncated: it should have " +
             std::to_string(segment.p_offset + segment.p_filesz) + " bytes or more, and has " +
             std::to_string(image.bytes));
    }
    if (segment.p_memsz < segment.p_filesz || segment.p_memsz > max_memory ||
        segment.p_vaddr > max_memory || segment.p_vaddr < mapped_until) {
      refuse_damaged("its segments are not in order");
    }
    if (!is_power_of_two(segment.p_align) ||
        (segment.p_vaddr - segment.p_offset) % segment.p_align != 0) {
      refuse_damaged("its segments are not aligned");
    }
    mapped_until = segment.p_vaddr + segment.p_memsz;
  }
  if (mapped_until == 0) refuse_damaged("it has nothing to load");
}

std::string_view name_at(const ImageView& image, const Elf64_Shdr& names, std::uint32_t offset) {
  if (offset >= names.sh_size || !image.contains(names.sh_offset, names.sh_size)) return {};
  const auto* const start = reinterpret_cast<const char*>(image.data) + names.sh_offset + offset;
  return {start, strnlen(start, names.sh_size - offset)};
}

}  // namespace

std::size_t stated_elf_bytes(const unsigned char* data) {
  const ImageView start = {data, sizeof(Elf64_Ehdr)};
  const Elf64_Ehdr header = read_header(start);
  check_identity(header);
  std::uint64_t bytes = std::max<std::uint64_t>(
      sizeof header, header.e_phoff + std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
  for (const Elf64_Phdr& segment : read_program_headers({data, bytes})) {
    bytes = std::max<std::uint64_t>(bytes, segment.p_offset + segment.p_filesz);
  }
  const std::uint64_t sections = std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
  return std::max<std::uint64_t>(bytes, header.e_shoff + sections);
}

void check_elf(const ImageView& image) {
  check_identity(read_header(image));
  const std::vector<Elf64_Phdr> headers = read_program_headers(image);
  read_section_headers(image);
  check_loaded_segments(image, headers);
}

std::vector<ElfSegment> elf_segments(const ImageView& image) {
  std::vector<ElfSegment> segments;
  std::vector<ElfSegment> read_only_later;
  for (const Elf64_Phdr& header : read_program_headers(image)) {
    const int protection = ((header.p_flags & PF_R) != 0 ? PROT_READ : 0) |
                           ((header.p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
                           ((header.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
    if (header.p_type == PT_LOAD) {
      segments.push_back({header.p_vaddr, header.p_memsz, protection});
    } else if (header.p_type == PT_GNU_RELRO) {
      read_only_later.push_back({header.p_vaddr, header.p_memsz, PROT_READ});
    }
  }
  segments.insert(segments.end(), read_only_later.begin(), read_only_later.end());
  return segments;
}

std::uint64_t elf_thread_local_bytes(const ImageView& image) {
  for (const Elf64_Phdr& header : read_program_headers(image)) {
    if (header.p_type == PT_TLS) return header.p_memsz;
  }
  return 0;
}

std::vector<ElfSymbol> elf_symbols(const ImageView& image) {
  std::vector<ElfSymbol> symbols;
  const std::vector<Elf64_Shdr> sections = read_section_headers(image);
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
    const Elf64_Shdr& names = sections[section.sh_link];
    for (const Elf64_Sym& symbol : read_table<Elf64_Sym>(
             image, section.sh_offset, section.sh_size / sizeof(Elf64_Sym), "its symbols")) {
      const unsigned type = ELF64_ST_TYPE(symbol.st_info);
      if (symbol.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_TLS)) continue;
      symbols.push_back(
          {name_at(image, names, symbol.st_name), symbol.st_value, symbol.st_size,
           type == STT_FUNC ? ElfSymbol::Kind::function : ElfSymbol::Kind::thread_local_variable});
    }
  }
  return symbols;
}

ImageView elf_line_table(const ImageView& image) {
  const std::vector<Elf64_Shdr> sections = read_section_headers(image);
  const Elf64_Ehdr header = read_header(image);
  if (header.e_shstrndx >= sections.size()) return {};
  for (const Elf64_Shdr& section : sections) {
    if (name_at(image, sections[header.e_shstrndx], section.sh_name) != ".debug_line" ||
        (section.sh_flags & SHF_COMPRESSED) != 0) {
      continue;
    }
    if (!image.contains(section.sh_offset, section.sh_size)) return {};
    return {image.data + section.sh_offset, section.sh_size};
  }
  return {};
}

}  // namespace gridstride::host

#else

namespace gridstride::host {

std::size_t stated_elf_bytes(const unsigned char*) { return 0; }
void check_elf(const ImageView&) {}
std::vector<ElfSegment> elf_segments(const ImageView&) { return {}; }
std::uint64_t elf_thread_local_bytes(const ImageView&) { return 0; }
std::vector<ElfSymbol> elf_symbols(const ImageView&) { return {}; }
ImageView elf_line_table(const ImageView&) { return {}; }

}  // namespace gridstride::host

#endif
