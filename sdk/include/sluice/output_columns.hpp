// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A stage whose columns depend on its parameters and on what arrives has a function
//
//   static void decide_columns(const Parameters& p, const ArrivingColumns& in, ColumnDecision& columns);   // throws Failure::usage
//
// and its plugin says SLUICE_PLUGIN_WITH(sluice::output_columns<Mine>, "my_plugin", "1.0.0", "MIT", Mine). What it decides takes the place of the
// needs and gives of describe(). decided_stage() is the host's side, and that of tests.

#include <sluice/output_columns.h>

#include <deque>
#include <memory>
#include <new>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

struct ArrivingColumns {
  struct Column {
    std::string name, type;
  };
  std::string row_type;
  std::vector<Column> columns;
  // "": there is none.
  std::string type_of(std::string_view name) const {
    for (const Column& column : columns)
      if (column.name == name) return column.type;
    return {};
  }
};

class ColumnDecision {
 public:
  explicit ColumnDecision(const sluice_column_decision& to) : to_(&to) {}
  void need(const std::string& parameter, const std::string& name) { to_->need(to_->to, parameter.c_str(), name.c_str()); }
  void give(const std::string& name, const std::string& type) { to_->give(to_->to, name.c_str(), type.c_str()); }
  void hide(const std::string& name) { to_->hide(to_->to, name.c_str()); }
  void rows(const std::string& type) { to_->rows(to_->to, type.c_str()); }

 private:
  const sluice_column_decision* to_;
};

namespace detail {

template <class Stage>
concept DecidesColumns = requires(const typename Stage::Parameters& p, const ArrivingColumns& in, ColumnDecision& columns) {
  Stage::decide_columns(p, in, columns);
};

template <DecidesColumns Stage>
bool decide_columns(const char* id, const sluice_value* values, std::size_t stride, const ArrivingColumns& in, const sluice_column_decision& to,
                    sluice_status& status, sluice_error* error) {
  if (std::string_view(Adapter<Stage>::description().descriptor().id) != id) return false;
  status = guarded(error, [&] {
    ColumnDecision columns(to);
    Stage::decide_columns(Adapter<Stage>::description().load_parameters(values, stride), in, columns);
    return SLUICE_OK;
  });
  return true;
}

}  // namespace detail

// The extension of a plugin with these stages, all of which decide their columns.
template <detail::DecidesColumns... Stages>
const void* output_columns(const char* id) {
  static const sluice_output_columns extension = {
      sizeof extension, [](const char* stage, const sluice_value* values, std::size_t stride, const char* row_type, std::size_t count,
                           const sluice_column_spec* columns, std::size_t column_stride, const sluice_column_decision* to, sluice_error* error) {
        sluice_status status = SLUICE_ERROR_UNSUPPORTED;
        ArrivingColumns in;
        const sluice_status copied = detail::guarded(error, [&] {
          in.row_type = row_type;
          for (std::size_t i = 0; i < count; ++i) {
            const sluice_column_spec& column = *SLUICE_AT(sluice_column_spec, columns, column_stride, i);
            in.columns.push_back({column.name, column.type});
          }
          return SLUICE_OK;
        });
        if (copied != SLUICE_OK) return copied;
        (detail::decide_columns<Stages>(stage, values, stride, in, *to, status, error) || ...);
        return status;
      }};
  return std::string_view(id) == SLUICE_OUTPUT_COLUMNS_EXTENSION ? &extension : nullptr;
}

// A stage with the columns that have been decided.
struct DecidedStage {
  sluice_stage_descriptor descriptor{};
  std::vector<sluice_column_spec> needs, gives;
  std::vector<std::string> hidden;
  std::vector<std::pair<std::string, std::string>> missing;  // parameter, and the column that it names and that does not arrive
  std::deque<std::string> texts;                             // that the descriptor points to

  const char* keep(std::string_view text) { return texts.emplace_back(text).c_str(); }
};

namespace detail {

// Takes what a stage decides.
struct DecisionReceiver {
  DecidedStage* stage;
  const ArrivingColumns* in;
  bool has_room = true;
  std::string row_type;
  template <class Body>
  static void with(void* to, Body&& body) noexcept {
    DecisionReceiver& receiver = *static_cast<DecisionReceiver*>(to);
    try {
      body(receiver);
    } catch (const std::bad_alloc&) {
      receiver.has_room = false;
    }
  }
};

}  // namespace detail

// Null: the stage's columns are those of its descriptor. Throws Failure where the stage refuses, or decides what can't be.
inline std::unique_ptr<DecidedStage> decided_stage(const sluice_plugin_info& plugin, const sluice_stage_descriptor& stage, const sluice_value* values,
                                                   std::size_t stride, const ArrivingColumns& in) {
  const auto* const extension =
      plugin.get_extension == nullptr ? nullptr : static_cast<const sluice_output_columns*>(plugin.get_extension(SLUICE_OUTPUT_COLUMNS_EXTENSION));
  if (extension == nullptr || !SLUICE_HAS(extension, sluice_output_columns, decide)) return nullptr;
  auto decided = std::make_unique<DecidedStage>();
  using Receiver = detail::DecisionReceiver;
  Receiver receiver{decided.get(), &in, true, {}};
  sluice_column_decision to{};
  to.struct_size = sizeof to;
  to.to = &receiver;
  to.need = [](void* at, const char* parameter, const char* name) {
    Receiver::with(at, [&](Receiver& r) {
      const std::string type = r.in->type_of(name);
      if (type.empty()) return r.stage->missing.emplace_back(parameter, name), void();
      r.stage->needs.push_back({r.stage->keep(name), r.stage->keep(type), 0, ""});
    });
  };
  to.give = [](void* at, const char* name, const char* type) {
    Receiver::with(at, [&](Receiver& r) { r.stage->gives.push_back({r.stage->keep(name), r.stage->keep(type), 0, "as the parameters say"}); });
  };
  to.hide = [](void* at, const char* name) { Receiver::with(at, [&](Receiver& r) { r.stage->hidden.emplace_back(name); }); };
  to.rows = [](void* at, const char* type) { Receiver::with(at, [&](Receiver& r) { r.row_type = type; }); };
  std::vector<sluice_column_spec> arriving;
  for (const ArrivingColumns::Column& column : in.columns) arriving.push_back({column.name.c_str(), column.type.c_str(), 0, ""});
  sluice_error error{};
  const sluice_status status =
      extension->decide(stage.id, values, stride, in.row_type.c_str(), arriving.size(), arriving.data(), sizeof(sluice_column_spec), &to, &error);
  if (status == SLUICE_ERROR_UNSUPPORTED) return nullptr;
  if (status != SLUICE_OK) throw Failure(status, error.message, error.remedy);
  if (!receiver.has_room) throw std::bad_alloc();
  decided->descriptor = stage;
  decided->descriptor.input.column_count = decided->needs.size();
  decided->descriptor.input.column_stride = sizeof(sluice_column_spec);
  decided->descriptor.input.columns = decided->needs.data();
  decided->descriptor.output.column_count = decided->gives.size();
  decided->descriptor.output.column_stride = sizeof(sluice_column_spec);
  decided->descriptor.output.columns = decided->gives.data();
  if (!receiver.row_type.empty()) decided->descriptor.output.row_type = decided->keep(receiver.row_type);
  return decided;
}

}  // namespace sluice
