// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "shard/file_joining.hpp"

#include <sluice/file_joining.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sluice/failure.hpp>
#include <vector>

#include "run/call_mark.hpp"
#include "run/host.hpp"
#include "run/run_context.hpp"
#include "run/stage_call.hpp"

namespace sluice {
namespace {

const sluice_file_joining* joining_of(const ResolvedStage& sink) {
  const sluice_plugin_info& plugin = *sink.entry.plugin;
  if (plugin.get_extension == nullptr) return nullptr;
  const auto* joining = static_cast<const sluice_file_joining*>(plugin.get_extension(SLUICE_FILE_JOINING_EXTENSION));
  return joining != nullptr && SLUICE_HAS(joining, sluice_file_joining, join) ? joining : nullptr;
}

// The bytes of a file as they are.
class PlainPart {
 public:
  explicit PlainPart(const FilePart& part) : name_(part.path), file_(part.path, std::ios::binary), piece_(std::size_t{1} << 20) {
    if (!file_) throw Failure::input("cannot open '" + name_ + "': " + std::strerror(errno), "check the path");
  }
  std::string_view next() {
    file_.read(piece_.data(), static_cast<std::streamsize>(piece_.size()));
    if (file_.bad()) throw Failure::input("cannot read '" + name_ + "'");
    return {piece_.data(), static_cast<std::size_t>(file_.gcount())};
  }

 private:
  std::string name_;
  std::ifstream file_;
  std::vector<char> piece_;
};

void join_bytes(RunContext& run, const FilesToJoin& files) {
  sluice_file& file = *run.files.open(files.output);
  const auto write = [&](std::string_view bytes) {
    if (run.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "the run ends");
    OutputFiles::write(file, bytes.data(), bytes.size());
    ++run.progress;
  };
  join_parts<PlainPart>(files, write, write);
  OutputFiles::close(file);
}

}  // namespace

FileForm joined_form(const ResolvedStage& sink) {
  const sluice_file_joining* joining = joining_of(sink);
  std::array<char, 128> form{};
  sluice_error error{};
  const sluice_status status =
      joining == nullptr ? static_cast<sluice_status>(SLUICE_ERROR_UNSUPPORTED)
                         : joining->check(sink.entry.descriptor->id, sink.values.data(), sizeof(sluice_value), form.data(), form.size(), &error);
  if (status == SLUICE_ERROR_UNSUPPORTED) return {};
  if (status != SLUICE_OK) return {"", true, error.message[0] == '\0' ? "no reason is given" : error.message, error.remedy};
  return {form.data(), true, "", ""};
}

void join_files(RunContext& run, std::size_t sink, const FilesToJoin& files) {
  const ResolvedStage& stage = *run.plan.stages[sink].stage;
  const sluice_file_joining* joining = joining_of(stage);
  if (!joined_form(stage).by_plugin) return join_bytes(run, files);
  std::vector<sluice_file_part> parts;
  for (const FilePart& part : files.parts) parts.push_back({part.path.c_str(), part.header_bytes});
  sluice_host& host = run.host_of_stage(sink);
  sluice_call call{};
  call.struct_size = sizeof call;
  call.api = &host_api();
  call.host = &host;
  sluice_join_args args{};
  args.struct_size = sizeof args;
  args.stage = stage.entry.descriptor->id;
  args.parameters = stage.values.data();
  args.parameter_stride = sizeof(sluice_value);
  args.parameter = files.parameter.c_str();
  args.output = files.output.c_str();
  args.part_count = parts.size();
  args.part_stride = sizeof(sluice_file_part);
  args.parts = parts.data();
  sluice_error error{};
  const CallMark mark(host);
  throw_unless_ok(joining->join(&call, &args, &error), error);
}

}  // namespace sluice
