// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Files of shards become one by who writes them. A sink whose files are more than lines behind a header (compressed, indexed) has two functions:
//
//   static std::string joined_form(const Parameters& p);             // "BGZF text", for people; throws Failure::usage where it can't be done
//   static void join_files(const Call&, const Parameters& p, const FilesToJoin& files);   // p names the new file
//
// and the plugin says SLUICE_PLUGIN_WITH(sluice::file_joining<Mine>, "my_plugin", "1.0.0", "MIT", Mine).

#include <sluice/file_joining.h>

#include <concepts>
#include <cstddef>
#include <cstdio>
#include <sluice/file_parts.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>

namespace sluice {

namespace detail {

template <class Stage>
concept JoinsFiles = requires(const Call& call, const typename Stage::Parameters& p, const FilesToJoin& files) {
  { Stage::joined_form(p) } -> std::convertible_to<std::string>;
  Stage::join_files(call, p, files);
};

// One of the stages that join their files.
template <JoinsFiles Stage>
struct Joining {
  static bool is(const char* id) { return std::string_view(Adapter<Stage>::description().descriptor().id) == id; }
  static sluice_status check(const sluice_value* values, std::size_t stride, char* form, std::size_t capacity, sluice_error* error) {
    return guarded(error, [&] {
      std::snprintf(form, capacity, "%s", std::string(Stage::joined_form(Adapter<Stage>::description().load_parameters(values, stride))).c_str());
      return SLUICE_OK;
    });
  }
  static sluice_status join(const sluice_call* call, const sluice_join_args* args, sluice_error* error) {
    return guarded(error, [&] {
      FilesToJoin files{args->parameter, args->output, {}};
      for (std::size_t i = 0; i < args->part_count; ++i) {
        const sluice_file_part& part = *SLUICE_AT(sluice_file_part, args->parts, args->part_stride, i);
        files.parts.push_back({part.path, part.header_bytes});
      }
      const auto parameters = Adapter<Stage>::description().load_parameters(args->parameters, args->parameter_stride);
      Stage::joined_form(parameters);
      Stage::join_files(Call(*call), parameters, files);
      return SLUICE_OK;
    });
  }
};

}  // namespace detail

// The extension of a plugin with these stages, all of which join their files.
template <detail::JoinsFiles... Stages>
const void* file_joining(const char* id) {
  static const sluice_file_joining joining = {
      sizeof joining,
      [](const char* stage, const sluice_value* values, std::size_t stride, char* form, std::size_t capacity, sluice_error* error) {
        sluice_status status = SLUICE_ERROR_UNSUPPORTED;
        ((detail::Joining<Stages>::is(stage) && (status = detail::Joining<Stages>::check(values, stride, form, capacity, error), true)) || ...);
        return status;
      },
      [](const sluice_call* call, const sluice_join_args* args, sluice_error* error) {
        sluice_status status = SLUICE_ERROR_UNSUPPORTED;
        ((detail::Joining<Stages>::is(args->stage) && (status = detail::Joining<Stages>::join(call, args, error), true)) || ...);
        return status;
      }};
  return std::string_view(id) == SLUICE_FILE_JOINING_EXTENSION ? &joining : nullptr;
}

}  // namespace sluice
