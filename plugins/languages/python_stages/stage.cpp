// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Makes stages of functions in Python files: use = "gc.py:gc_share".

#include <sluice/stage_maker.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <sluice/stage.hpp>

#include "python_stages/stage_instance.hpp"

namespace sluice::python {
namespace {

namespace fs = std::filesystem;

constexpr const char* sign = ".py:";
constexpr std::uintmax_t largest_source = std::uintmax_t{16} << 20;

std::string& plugin_file() {
  static auto& file = *new std::string;  // never destroyed: plugins are never unloaded
  return file;
}

struct KnownFunction {
  PythonFunction function;
  std::string build_id;
  // The worker that has described it, for the run that is planned. What it has imported may be of yesterday in a program that lives long.
  std::unique_ptr<Worker> describer;
  std::chrono::steady_clock::time_point described;
};
constexpr auto usable_for = std::chrono::seconds(10);

// Every function that a pipeline of this process has named. Places in a deque stay.
struct KnownFunctions {
  std::mutex mutex;  // guards what follows
  std::deque<KnownFunction> all;
};

KnownFunctions& known_functions() {
  static auto& known = *new KnownFunctions;  // never destroyed: instances point into it
  return known;
}

std::string source_text(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error))
    throw Failure::usage("there is no file '" + file.string() + "'",
                         "write use = \"FILE.py:FUNCTION\"; the file is looked for beside the pipeline's");
  if (fs::file_size(file, error) > largest_source) throw Failure::usage("'" + file.string() + "' is too long for a source of Python");
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in) throw Failure::usage("'" + file.string() + "' can't be read");
  return text;
}

// FNV-1a, 64 bits: another text is another code, as far as --resume is concerned.
std::string digest(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

// The number of the function that `use` names; asks Python for its description unless that is known.
std::size_t number_of(const std::string& use, const fs::path& folder) {
  const std::size_t at = use.rfind(sign) + 3;
  const fs::path file = fs::absolute(folder / use.substr(0, at)).lexically_normal();
  const std::string function = use.substr(at + 1);
  if (function.empty()) throw Failure::usage("'" + use + "' names no function", "write use = \"FILE.py:FUNCTION\"");
  const std::string build_id = file.filename().string() + " " + digest(source_text(file));
  KnownFunctions& known = known_functions();
  const std::lock_guard lock(known.mutex);
  const auto found = std::find_if(known.all.begin(), known.all.end(), [&](const KnownFunction& one) {
    return one.function.file == file && one.function.function == function && one.build_id == build_id;
  });
  if (found != known.all.end()) return static_cast<std::size_t>(found - known.all.begin());
  auto worker = std::make_unique<Worker>(find_python(plugin_file()), file, function);
  const Introduction& said = worker->introduction([] { return false; });
  known.all.push_back({{file, function, said}, build_id, std::move(worker), std::chrono::steady_clock::now()});
  return known.all.size() - 1;
}

sluice_status make(const char* use, const char* folder, void (*take)(void*, const char*, const char*), void* to, std::size_t* index,
                   sluice_error* error) {
  return detail::guarded(error, [&] {
    *index = number_of(use, folder);
    KnownFunctions& known = known_functions();
    const std::lock_guard lock(known.mutex);
    const KnownFunction& one = known.all[*index];
    take(to, one.function.said.description.c_str(), one.build_id.c_str());
    return SLUICE_OK;
  });
}

sluice_status process(void* self, const sluice_call* raw, const sluice_batch* input, sluice_output* output, sluice_error* error) {
  return detail::guarded(error, [&] {
    const Call call(*raw);
    Output out(call, output, input->row_count);
    return static_cast<StageInstance*>(self)->process(call, Batch(*input), out), SLUICE_OK;
  });
}

sluice_status estimate(void* self, const sluice_batch* input, sluice_estimate* result) {
  return detail::guarded(nullptr, [&] {
    const Estimate e = static_cast<const StageInstance*>(self)->estimate(Batch(*input));
    result->work = e.work;
    result->largest_row_work = e.largest_row_work;
    result->output_bytes = e.output_bytes;
    result->scratch_bytes = e.scratch_bytes;
    return SLUICE_OK;
  });
}

sluice_status finish(void* self, const sluice_call* raw, sluice_output*, sluice_error* error) {
  return detail::guarded(error, [&] { return static_cast<StageInstance*>(self)->finish(Call(*raw)), SLUICE_OK; });
}

sluice_status create(std::size_t index, const sluice_create_args* args, sluice_stage* stage, sluice_error* error) {
  return detail::guarded(error, [&] {
    KnownFunctions& known = known_functions();
    const PythonFunction* function = nullptr;
    std::unique_ptr<Worker> first;
    {
      const std::lock_guard lock(known.mutex);
      KnownFunction& one = known.all.at(index);
      function = &one.function;
      first = std::move(one.describer);
      if (std::chrono::steady_clock::now() - one.described > usable_for) first.reset();
    }
    *stage = sluice_stage{};
    stage->struct_size = sizeof *stage;
    stage->self = new StageInstance(*function, find_python(plugin_file()), std::move(first), *args);
    stage->process = process;
    stage->estimate = estimate;
    stage->finish = finish;
    stage->destroy = [](void* self) { delete static_cast<StageInstance*>(self); };
    return SLUICE_OK;
  });
}

constexpr sluice_stage_maker maker = {sizeof(sluice_stage_maker), sign, make, create};

const void* extension(const char* id) { return std::string_view(id) == SLUICE_STAGE_MAKER_EXTENSION ? &maker : nullptr; }

}  // namespace
}  // namespace sluice::python

extern "C" SLUICE_EXPORT const std::uint32_t sluice_plugin_abi;
const std::uint32_t sluice_plugin_abi = SLUICE_ABI_NUMBER;
extern "C" SLUICE_EXPORT const sluice_plugin_info* sluice_plugin_init(const sluice_init_args* args, sluice_error* error) {
  static sluice_plugin_info info{};
  const sluice_status status = sluice::detail::guarded(error, [&] {
    sluice::python::plugin_file() = args->path;
    info = sluice::detail::plugin<>("python_stages", "0.1.0", "MIT", "");
    info.get_extension = sluice::python::extension;
    return SLUICE_OK;
  });
  return status == SLUICE_OK ? &info : nullptr;
}
