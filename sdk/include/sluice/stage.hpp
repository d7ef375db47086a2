// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a stage author includes. A stage is a class with
//
//   struct Parameters { int window = 3; };                       // every option once: its default is here
//   static void describe(sluice::Describe<Mine>& d);              // descriptor: name, columns, help of every option
//   Mine(const sluice::Setup& setup, const Parameters& p);        // once per run
//   void process(const sluice::Call&, const sluice::Batch& in, sluice::Output& out);   // see sluice_stage_kind for what it may do
//
// and SLUICE_PLUGIN("my_plugin", "1.0.0", "MIT", Mine) at the end of one file. Optional members:
//   sluice::Estimate estimate(const sluice::Batch& in) const;
//   void commit(const sluice::Call&, const sluice::Batch& in);     // sinks
//   void finish(const sluice::Call&, sluice::Output& out);         // sinks, regroups, maps
//   void feedback(const sluice::Call&, const sluice::Batch& in);   // sources, regroups: rows that a sink has committed, beside process()
//   static void check_parameters(const Parameters& p);             // rules between parameters: throws Failure::usage, before a run begins
//   std::string position();                                        // sources with positions(): where the next row begins
//   void save(const sluice::Call&, sluice::StateWriter& to);       // ordered maps, regroups, sinks: what Setup::saved() gives a later instance
//   bool can_save() const;                                         // with save(): false where these parameters don't allow it
// A source's process returns bool: true while there may be more rows. An ordered map's may, too: false when it needs no more; what only it asked for
// is then not read on.

#include <sluice/abi.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <sluice/batch.hpp>
#include <sluice/call.hpp>
#include <sluice/column.hpp>
#include <sluice/describe.hpp>
#include <sluice/failure.hpp>
#include <sluice/saved_state.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sluice {

struct Estimate {
  double work = 0;
  double largest_row_work = 0;
  std::uint64_t output_bytes = 0;
  std::uint64_t scratch_bytes = 0;
  // Optional, one per row: by what a batch is divided between a device and the CPU, where the lengths of the longest list column do not say it.
  std::vector<double> row_work;
};

// What a stage instance gets when it is made. Resources live as long as the instance.
class Setup : public Host {
 public:
  Setup(const sluice_create_args& args, const sluice_stage_descriptor& descriptor)
      : Host(args.api, args.host), args_(&args), descriptor_(&descriptor) {}
  const char* instance() const { return args_->instance; }
  bool has_resource(std::string_view slot) const { return find(slot) != nullptr; }
  Batch resource(std::string_view slot) const {
    const sluice_batch* batch = find(slot);
    if (batch == nullptr) throw std::logic_error("resource slot '" + std::string(slot) + "' is not declared or not given");
    return Batch(*batch);
  }
  // Sources, regroups: sinks whose rows come back to feedback(). 0: nobody does, so nothing is to be waited for.
  int feedback_sinks() const { return args_->feedback_sinks; }
  // Sources with positions(): where to begin; "": at the beginning.
  std::string begin_at() const { return args_->begin_at == nullptr ? std::string() : std::string(args_->begin_at); }
  // Which part of the run this is, from 0, of how many: sources and regroups with parts() give that part, what lies behind them gets it.
  std::uint64_t part() const { return args_->part; }
  std::uint64_t parts() const { return args_->parts; }
  // What save() gave, of the instances that this one goes on behind; none: it begins.
  std::vector<std::string_view> saved() const {
    std::vector<std::string_view> states;
    for (std::size_t i = 0; i < args_->saved_count; ++i) {
      const sluice_bytes& saved = *SLUICE_AT(sluice_bytes, args_->saved, args_->saved_stride, i);
      states.emplace_back(static_cast<const char*>(saved.data), saved.bytes);
    }
    return states;
  }
  // Is an optional output column used by anybody?
  bool wanted(std::string_view column) const { return flag(descriptor_->output, args_->wanted, column); }
  // Is an optional input column there?
  bool available(std::string_view column) const { return flag(descriptor_->input, args_->available, column); }

 private:
  const sluice_batch* find(std::string_view slot) const {
    for (std::size_t i = 0; i < descriptor_->resource_count; ++i)
      if (slot == descriptor_->resources[i].name) return args_->resources[i];
    return nullptr;
  }
  static bool flag(const sluice_port& port, const std::uint8_t* flags, std::string_view column) {
    for (std::size_t i = 0; i < port.column_count; ++i)
      if (column == port.columns[i].name) return flags[i] != 0;
    return false;
  }
  const sluice_create_args* args_;
  const sluice_stage_descriptor* descriptor_;
};

struct NoParameters {};

namespace detail {

inline void fill(sluice_error* error, sluice_status code, const char* message, const char* remedy) {
  if (error == nullptr) return;
  error->code = code;
  std::snprintf(error->message, sizeof error->message, "%s", message);
  std::snprintf(error->remedy, sizeof error->remedy, "%s", remedy);
}

// Runs body and turns whatever it throws into a status: the only place where exceptions end.
template <class Body>
sluice_status guarded(sluice_error* error, Body&& body) noexcept {
  try {
    return body();
  } catch (const Failure& failure) {
    fill(error, failure.status(), failure.what(), failure.remedy().c_str());
    return failure.status();
  } catch (const std::bad_alloc&) {
    fill(error, SLUICE_ERROR_MEMORY, "out of memory", "lower --memory or --threads, or use a machine with more memory");
    return SLUICE_ERROR_MEMORY;
  } catch (const std::exception& exception) {
    fill(error, SLUICE_ERROR_INTERNAL, exception.what(), "this is a bug in the plugin: please report it");
    return SLUICE_ERROR_INTERNAL;
  } catch (...) {
    fill(error, SLUICE_ERROR_INTERNAL, "unknown exception", "this is a bug in the plugin: please report it");
    return SLUICE_ERROR_INTERNAL;
  }
}

template <class Stage>
struct Adapter {
  static constexpr bool saves = requires(Stage & s, const Call& c, StateWriter& w) { s.save(c, w); };

  static const Describe<Stage>& description() {
    // Leaks on purpose: descriptors live as long as the plugin, and plugins are never unloaded.
    static const Describe<Stage>* const instance = [] {
      auto* d = new Describe<Stage>;
      if constexpr (requires { &Stage::process; })
        d->template implementation<&Stage::process>("cpu", "portable C++ with run-time SIMD dispatch where it matters");
      Stage::describe(*d);
      if constexpr (saves) d->saves();
      if constexpr (requires(const typename Stage::Parameters& p) { Stage::check_parameters(p); }) d->check_with(check);
      d->finish();
      return d;
    }();
    return *instance;
  }

  static sluice_status check(const sluice_value* values, std::size_t stride, sluice_error* error) {
    return guarded(error, [&] { return Stage::check_parameters(description().load_parameters(values, stride)), SLUICE_OK; });
  }
  static sluice_status create(const sluice_create_args* args, sluice_stage* stage, sluice_error* error) {
    return guarded(error, [&]() -> sluice_status {
      const Setup setup(*args, description().descriptor());
      const auto parameters = description().load_parameters(args->parameters, args->parameter_stride);
      if constexpr (requires { Stage::check_parameters(parameters); }) Stage::check_parameters(parameters);
      *stage = sluice_stage{};
      stage->struct_size = sizeof *stage;
      if constexpr (std::is_constructible_v<Stage, const Setup&, const typename Stage::Parameters&>)
        stage->self = new Stage(setup, parameters);
      else
        stage->self = new Stage();
      stage->process = process;
      stage->destroy = [](void* self) { delete static_cast<Stage*>(self); };
      if constexpr (requires(const Stage& s, const Batch& b) { s.estimate(b); }) stage->estimate = estimate;
      if constexpr (requires(Stage & s, const Call& c, const Batch& b) { s.commit(c, b); }) stage->commit = commit;
      if constexpr (requires(Stage & s, const Call& c, Output& o) { s.finish(c, o); }) stage->finish = finish;
      if constexpr (requires(Stage & s, const Call& c, const Batch& b) { s.feedback(c, b); }) stage->feedback = feedback;
      if constexpr (requires(Stage & s) { s.position(); }) stage->position = position;
      if constexpr (saves) stage->save = save;
      if constexpr (requires(const Stage& s) { s.can_save(); })
        if (!static_cast<const Stage*>(stage->self)->can_save()) stage->save = nullptr;
      if constexpr (!requires { &Stage::process; }) stage->process = nullptr;
      // bool offers(device) const: whether that implementation can do what this instance's parameters ask for.
      if constexpr (requires(const Stage& s, std::string_view device) { s.offers(device); }) {
        const sluice_stage_descriptor& d = description().descriptor();
        for (std::size_t i = 0; i < d.implementation_count; ++i)
          if (!static_cast<const Stage*>(stage->self)->offers(d.implementations[i].device)) stage->declined |= std::uint64_t{1} << i;
      }
      return SLUICE_OK;
    });
  }
  static sluice_status process(void* self, const sluice_call* raw, const sluice_batch* input, sluice_output* output, sluice_error* error) {
    return guarded(error, [&] {
      const Call call(*raw);
      Output out(call, output, input != nullptr && description().descriptor().kind != SLUICE_REGROUP ? input->row_count : 0);
      if (input == nullptr) return description().run(*static_cast<Stage*>(self), call, raw->implementation, nullptr, out);
      const Batch in(*input);
      return description().run(*static_cast<Stage*>(self), call, raw->implementation, &in, out);
    });
  }
  static sluice_status estimate(void* self, const sluice_batch* input, sluice_estimate* result) {
    return guarded(nullptr, [&] {
      const Estimate e = static_cast<const Stage*>(self)->estimate(Batch(*input));
      result->work = e.work;
      result->largest_row_work = e.largest_row_work;
      result->output_bytes = e.output_bytes;
      result->scratch_bytes = e.scratch_bytes;
      if (result->row_work != nullptr && e.row_work.size() == static_cast<std::size_t>(input->row_count))
        std::copy(e.row_work.begin(), e.row_work.end(), result->row_work);
      return SLUICE_OK;
    });
  }
  static sluice_status commit(void* self, const sluice_call* raw, const sluice_batch* input, sluice_error* error) {
    return guarded(error, [&] { return static_cast<Stage*>(self)->commit(Call(*raw), Batch(*input)), SLUICE_OK; });
  }
  static sluice_status feedback(void* self, const sluice_call* raw, const sluice_batch* input, sluice_error* error) {
    return guarded(error, [&] { return static_cast<Stage*>(self)->feedback(Call(*raw), Batch(*input)), SLUICE_OK; });
  }
  static sluice_status position(void* self, char* text, std::size_t capacity, sluice_error* error) {
    return guarded(error, [&] {
      const std::string where = static_cast<Stage*>(self)->position();
      if (where.size() >= capacity) throw std::length_error("a position of " + std::to_string(where.size()) + " bytes");
      std::copy(where.begin(), where.end(), text);
      text[where.size()] = '\0';
      return SLUICE_OK;
    });
  }
  static sluice_status save(void* self, const sluice_call* raw, StateWriter::Write write, void* to, sluice_error* error) {
    return guarded(error, [&] {
      StateWriter writer(write, to);
      if constexpr (saves) static_cast<Stage*>(self)->save(Call(*raw), writer);
      return SLUICE_OK;
    });
  }
  static sluice_status finish(void* self, const sluice_call* raw, sluice_output* output, sluice_error* error) {
    return guarded(error, [&] {
      const Call call(*raw);
      Output out(call, output, 0);
      return static_cast<Stage*>(self)->finish(call, out), SLUICE_OK;
    });
  }
};

#ifndef SLUICE_BUILD_ID
#define SLUICE_BUILD_ID "unknown"
#endif

template <class... Stages>
sluice_plugin_info plugin(const char* name, const char* version, const char* licence, const char* origin) {
  sluice_plugin_info info{};
  info.struct_size = sizeof info;
  info.name = name;
  info.version = version;
  info.licence = licence;
  info.origin = origin;
  info.build_id = SLUICE_BUILD_ID;
  info.stage_count = sizeof...(Stages);
  info.stage = [](std::size_t index) -> const sluice_stage_descriptor* {
    static const sluice_stage_descriptor* const descriptors[] = {&Adapter<Stages>::description().descriptor()..., nullptr};
    return descriptors[index];
  };
  info.create = [](std::size_t index, const sluice_create_args* args, sluice_stage* stage, sluice_error* error) -> sluice_status {
    using Create = sluice_status (*)(const sluice_create_args*, sluice_stage*, sluice_error*);
    static constexpr Create creators[] = {&Adapter<Stages>::create..., nullptr};
    return creators[index](args, stage, error);
  };
  return info;
}

}  // namespace detail
}  // namespace sluice

// SLUICE_PLUGIN(name, version, licence, Stage...) in one source file of the plugin.
#define SLUICE_PLUGIN(NAME, VERSION, LICENCE, ...) SLUICE_PLUGIN_WITH(nullptr, NAME, VERSION, LICENCE, __VA_ARGS__)

// The same with something else that the plugin offers: EXTENSION is a function `const void* (const char* id)`, see sluice_plugin_info.get_extension.
#define SLUICE_PLUGIN_WITH(EXTENSION, NAME, VERSION, LICENCE, ...)                                                      \
  extern "C" SLUICE_EXPORT const std::uint32_t sluice_plugin_abi;                                                       \
  const std::uint32_t sluice_plugin_abi = SLUICE_ABI_NUMBER;                                                            \
  extern "C" SLUICE_EXPORT const sluice_plugin_info* sluice_plugin_init(const sluice_init_args*, sluice_error* error) { \
    static sluice_plugin_info info{};                                                                                   \
    const sluice_status status = ::sluice::detail::guarded(error, [] {                                                  \
      info = ::sluice::detail::plugin<__VA_ARGS__>(NAME, VERSION, LICENCE, "");                                         \
      info.get_extension = EXTENSION;                                                                                   \
      return SLUICE_OK;                                                                                                 \
    });                                                                                                                 \
    return status == SLUICE_OK ? &info : nullptr;                                                                       \
  }                                                                                                                     \
  static_assert(true, "wants a semicolon")
