// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "plugin/registry.hpp"

#include <sys/mman.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <boost/dll/shared_library.hpp>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <sluice/folder.hpp>
#include <system_error>
#include <type_traits>
#include <utility>

#include "machine/own_folder.hpp"
#include "plugin/descriptor.hpp"
#include "plugin/elf_extent.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

// Descriptors, code and static data of a plugin are used until the last moment of the process (batches release their columns through it), and no
// order of unloading would be safe.
void keep_for_ever(std::unique_ptr<boost::dll::shared_library> library) {
  static std::mutex guards_libraries;
  static auto& libraries = *new std::vector<std::unique_ptr<boost::dll::shared_library>>;  // never destroyed
  const std::lock_guard lock(guards_libraries);
  libraries.push_back(std::move(library));
}

thread_local const char* being_loaded = nullptr;

// Code of a library runs while it is loaded, and as a plugin begins: a crash there is the plugin's.
struct LoadMark {
  explicit LoadMark(const fs::path& file) { being_loaded = file.c_str(); }
  LoadMark(const LoadMark&) = delete;
  ~LoadMark() { being_loaded = nullptr; }
};

// A plugin of another ABI is not called: its structs may be anything. The number itself is where it always was.
std::string abi_problem(std::uint32_t number) {
  if (number >> 16 == SLUICE_ABI_MAJOR && (number & 0xFFFF) <= SLUICE_ABI_MINOR) return {};
  return "was built for ABI " + std::to_string(number >> 16) + "." + std::to_string(number & 0xFFFF) + ", this sluice has " +
         std::to_string(SLUICE_ABI_MAJOR) + "." + std::to_string(SLUICE_ABI_MINOR) + " (rebuild it with this sluice's SDK)";
}

// What its init function says of itself; the stages are looked at one by one.
std::string info_problem(const sluice_plugin_info* info, const sluice_error& error) {
  if (info == nullptr) return error.message[0] != '\0' ? error.message : "can't be used, and does not say why";
  if (!SLUICE_HAS(info, sluice_plugin_info, get_extension))
    return "has a sluice_plugin_info of " + std::to_string(info->struct_size) + " bytes, at least " + std::to_string(sizeof(sluice_plugin_info)) +
           " are needed";
  if (info->name == nullptr || info->version == nullptr || (info->stage_count > 0 && (info->stage == nullptr || info->create == nullptr)))
    return "has an incomplete sluice_plugin_info";
  return {};
}

const sluice_device_provider* provider_of(const sluice_plugin_info& plugin) {
  return plugin.get_extension == nullptr ? nullptr : static_cast<const sluice_device_provider*>(plugin.get_extension(SLUICE_EXTENSION_DEVICE));
}

// What a plugin says of itself, with what tells its build from others. What is made for it lives as long as the process, as descriptors do.
const sluice_plugin_info* with_build(const sluice_plugin_info& said, const fs::path& file) {
  struct Kept {
    sluice_plugin_info info{};
    std::string build;
  };
  static std::mutex guards_kept;
  static auto& kept = *new std::map<const sluice_plugin_info*, Kept>;  // never destroyed
  const std::lock_guard lock(guards_kept);
  if (const auto known = kept.find(&said); known != kept.end()) return &known->second.info;
  const std::string declared = said.build_id == nullptr ? "" : said.build_id, linked = build_of(file);
  if (linked.empty()) return &said;  // part of the program
  Kept& made = kept[&said];
  std::memcpy(&made.info, &said, std::min<std::size_t>(said.struct_size, sizeof made.info));
  made.info.struct_size = sizeof made.info;
  made.build = declared + (declared.empty() ? "" : " ") + linked;
  made.info.build_id = made.build.c_str();
  return &made.info;
}

// Only what abi_device.h says may be null is.
bool is_complete(const sluice_device_provider& p) {
  return SLUICE_HAS(&p, sluice_device_provider, end_range) && p.kind != nullptr && p.count != nullptr && p.describe != nullptr && p.open != nullptr &&
         p.close != nullptr && p.open_stream != nullptr && p.close_stream != nullptr && p.synchronize != nullptr && p.allocate != nullptr &&
         p.free != nullptr && p.allocate_host != nullptr && p.free_host != nullptr && p.copy_to_device != nullptr && p.copy_to_host != nullptr &&
         p.record != nullptr && p.wait != nullptr && p.await != nullptr && p.forget != nullptr;
}

// The loader has words for this, but no code. Where nothing may be executed it says the same of every file.
bool is_out_of_memory(const std::string& reason, const fs::path& file) {
  struct statvfs folder {};
  if (statvfs(file.c_str(), &folder) == 0 && (folder.f_flag & ST_NOEXEC) != 0) return false;
  if (reason.find("static TLS") != std::string::npos) return false;
  // The last: it could be opened a moment ago, and the loader has no reason.
  for (const char* words : {"failed to map segment", "annot allocate memory", "out of memory", "cannot open shared object file)"})
    if (reason.find(words) != std::string::npos) return true;
  return false;
}

// Initialisers in other people's libraries crash where an allocation fails, before any code here could say so.
bool has_room_for(const fs::path& file) {
  constexpr std::size_t for_initialisers = 4 << 20;
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(file, error);
  if (error) return true;  // the loader says what is wrong with it
  const std::size_t room = static_cast<std::size_t>(bytes) + for_initialisers;
  void* const probe = ::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (probe == MAP_FAILED) return false;
  ::munmap(probe, room);
  return true;
}

[[noreturn]] void throw_out_of_memory(const fs::path& file) {
  throw std::system_error(std::make_error_code(std::errc::not_enough_memory), file.string());
}

}  // namespace

std::vector<fs::path> Registry::search_path(const std::vector<fs::path>& plugin_dirs) {
  std::vector<fs::path> result = plugin_dirs;
  if (const char* list = std::getenv("SLUICE_PLUGIN_PATH")) {
    const std::string paths = list;
    for (std::size_t begin = 0; begin <= paths.size();) {
      const std::size_t end = std::min(paths.find(':', begin), paths.size());
      // An empty entry would mean the working directory, which is never searched.
      if (end > begin) result.emplace_back(paths.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  if (const char* data = std::getenv("XDG_DATA_HOME"); data != nullptr && *data == '/')
    result.push_back(fs::path(data) / "sluice/plugins");
  else if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    result.push_back(fs::path(home) / ".local/share/sluice/plugins");
  if (const fs::path own = own_folder(); !own.empty()) {
    result.push_back(own / "plugins");
    result.push_back(own / "sluice/plugins");  // the installed library's
#ifdef SLUICE_INSTALLED_PLUGINS
    result.push_back(own / SLUICE_INSTALLED_PLUGINS);
#endif
  }
  return result;
}

void Registry::load_folder(const fs::path& folder) {
  std::vector<fs::path> files;
  const std::error_code error = for_each_entry(folder, [&files](const fs::path& file) {
    if (file.extension() == ".so") files.push_back(file);
  });
  // Beside a program there may be another program of a folder's name.
  const bool is_absent = error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
  if (error && !is_absent) add_problem(folder, "folder cannot be read: " + error.message());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) load_file(file);
}

const char* Registry::file_being_loaded() { return being_loaded; }

void Registry::load_file(const fs::path& file) {
  std::error_code error;
  const fs::path exact = fs::canonical(file, error);
  if (error) return add_problem(file, "cannot be read: " + error.message());
  if (std::any_of(plugins_.begin(), plugins_.end(), [&](const LoadedPlugin& plugin) { return plugin.file == exact; })) return;
  if (std::string problem = elf_problem(exact); !problem.empty()) return add_problem(exact, problem);
  if (!has_room_for(exact)) throw_out_of_memory(exact);
  const LoadMark mark(exact);
  auto library = std::make_unique<boost::dll::shared_library>();
  try {
    library->load(boost::dll::fs::path(exact.string()), boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local);
  } catch (const boost::dll::fs::system_error& refusal) {  // has the loader's own words, which name the missing symbol or library
    if (is_out_of_memory(refusal.what(), exact)) throw_out_of_memory(exact);
    return add_problem(exact, std::string("cannot be loaded: ") + refusal.what());
  }
  if (library->has("sluice_plugin") && !library->has(SLUICE_PLUGIN_ABI_SYMBOL)) return add_problem(exact, abi_problem(1 << 16));
  if (!library->has(SLUICE_PLUGIN_ABI_SYMBOL) || !library->has(SLUICE_PLUGIN_INIT_SYMBOL))
    return add_problem(exact, "is not a sluice plugin: it exports no '" SLUICE_PLUGIN_ABI_SYMBOL "' and '" SLUICE_PLUGIN_INIT_SYMBOL "'");
  if (std::string problem = abi_problem(library->get<const std::uint32_t>(SLUICE_PLUGIN_ABI_SYMBOL)); !problem.empty())
    return add_problem(exact, problem);
  const auto init = &library->get<std::remove_pointer_t<sluice_plugin_init_function>>(SLUICE_PLUGIN_INIT_SYMBOL);
  keep_for_ever(std::move(library));
  add(init, exact);
}

void Registry::add(sluice_plugin_init_function init, const fs::path& origin) {
  const std::string path = origin.string();
  const sluice_init_args args{sizeof args, SLUICE_ABI_MAJOR, SLUICE_ABI_MINOR, path.c_str()};
  sluice_error error{};
  const sluice_plugin_info* info = init(&args, &error);
  if (std::string problem = info_problem(info, error); !problem.empty()) return add_problem(origin, problem);
  info = with_build(*info, origin);
  std::vector<StageEntry> stages;
  for (std::size_t i = 0; i < info->stage_count; ++i) {
    std::string problem;
    const sluice_stage_descriptor* descriptor = take_descriptor(info->stage(i), problem);
    if (descriptor == nullptr) return add_problem(origin, problem);
    stages.push_back({descriptor, info, i, nullptr, nullptr});
  }
  for (const StageEntry& stage : stages)
    for (const fs::path& other : definitions_of(stage.descriptor->id))
      add_problem(origin, std::string("defines stage '") + stage.descriptor->id + "', as " + other.string() +
                              " does: no pipeline can use it before one of them is removed");
  if (const auto* provider = provider_of(*info); provider != nullptr && !is_complete(*provider))
    add_problem(origin, "knows devices, but not all that a host does with them (see sluice_device_provider)");
  plugins_.push_back({origin, info});
  stages_.insert(stages_.end(), stages.begin(), stages.end());
  std::sort(stages_.begin(), stages_.end(),
            [](const StageEntry& a, const StageEntry& b) { return std::string_view(a.descriptor->id) < b.descriptor->id; });
}

const StageEntry* Registry::find(std::string_view id) const {
  for (const StageEntry& stage : stages_)
    if (id == stage.descriptor->id) return &stage;
  return nullptr;
}

std::vector<fs::path> Registry::definitions_of(std::string_view id) const {
  std::vector<fs::path> files;
  for (const StageEntry& stage : stages_)
    if (id == stage.descriptor->id)
      for (const LoadedPlugin& plugin : plugins_)
        if (plugin.info == stage.plugin) files.push_back(plugin.file);
  return files;
}

std::vector<const sluice_device_provider*> Registry::device_providers() const {
  std::vector<const sluice_device_provider*> result;
  for (const LoadedPlugin& plugin : plugins_)
    if (const sluice_device_provider* provider = provider_of(*plugin.info); provider != nullptr && is_complete(*provider)) result.push_back(provider);
  return result;
}

}  // namespace sluice
