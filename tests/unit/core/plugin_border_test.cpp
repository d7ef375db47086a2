// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// What a plugin says of itself is read once, whatever sizes it was compiled with, and looked at.
#include <doctest/doctest.h>

#include <sluice/stage.hpp>

#include "plugin/registry.hpp"
#include "unit/core/toy_run.hpp"

using namespace sluice;

namespace {

// Structs as a later version might have them: more members behind those that we know.
template <class T>
struct Later : T {
  std::uint64_t news[3] = {1, 2, 3};
};

Later<sluice_column_spec> columns[2] = {{{"bases", "utf8", 0, "the read"}, {}}, {{"length", "i64", 1, "how long"}, {}}};
Later<sluice_parameter> parameters[2];
Later<sluice_reason> reasons[2] = {{{"short", "too short"}, {}}, {{"long", "too long"}, {}}};
Later<sluice_implementation> implementations[2] = {{{"cpu", "plain"}, {}}, {{"cuda", "kernels"}, {}}};
Later<sluice_stage_descriptor> descriptor;
sluice_plugin_info info{};
const char* refusal = nullptr;

// A map with everything twice, in arrays of a foreign stride.
void begin() {
  descriptor = {};
  descriptor.struct_size = sizeof descriptor;
  descriptor.id = "later";
  descriptor.summary = "from the future";
  descriptor.kind = SLUICE_MAP;
  descriptor.input = {"read", 1, sizeof columns[0], columns};
  descriptor.output = {"read", 1, sizeof columns[0], columns + 1};
  for (int i = 0; i < 2; ++i) {
    parameters[i] = {};
    parameters[i].name = i == 0 ? "first" : "second";
    parameters[i].help = "a number";
    parameters[i].type = SLUICE_INT;
  }
  descriptor.parameter_count = 2, descriptor.parameter_stride = sizeof parameters[0], descriptor.parameters = parameters;
  descriptor.reason_count = 2, descriptor.reason_stride = sizeof reasons[0], descriptor.reasons = reasons;
  descriptor.implementation_count = 2, descriptor.implementation_stride = sizeof implementations[0];
  descriptor.implementations = implementations;
  info = {};
  info.struct_size = sizeof info;
  info.name = "later", info.version = "9", info.licence = "MIT";
  info.stage_count = 1;
  info.stage = [](std::size_t) -> const sluice_stage_descriptor* { return &descriptor; };
  info.create = [](std::size_t, const sluice_create_args*, sluice_stage*, sluice_error*) -> sluice_status { return SLUICE_ERROR_UNSUPPORTED; };
  refusal = nullptr;
}

const sluice_plugin_info* init(const sluice_init_args* args, sluice_error* error) {
  CHECK(std::string(args->path) == "later.so");
  if (refusal == nullptr) return &info;
  std::snprintf(error->message, sizeof error->message, "%s", refusal);
  return nullptr;
}

std::string problem_of_plugin() {
  Registry registry;
  registry.add(init, "later.so");
  return registry.problems().empty() ? "" : registry.problems().front().reason;
}

}  // namespace

TEST_CASE("Structs in arrays are read by their maker's stride, and what is newer is left alone") {
  begin();
  Registry registry;
  registry.add(init, "later.so");
  REQUIRE(registry.problems().empty());
  const sluice_stage_descriptor& d = *registry.find("later")->descriptor;
  CHECK(d.struct_size == sizeof(sluice_stage_descriptor));
  CHECK(std::string(d.parameters[1].name) == "second");
  CHECK(std::string(d.reasons[1].code) == "long");
  CHECK(std::string(d.implementations[1].device) == "cuda");
  CHECK(std::string(d.output.columns[0].name) == "length");
  CHECK(d.parameter_stride == sizeof(sluice_parameter));
}

TEST_CASE("Structs in arrays that are smaller than ours end in zeros") {
  begin();
  struct Earlier {  // without `doc`
    const char* device;
  };
  static const Earlier earlier[2] = {{"cpu"}, {"cuda"}};
  descriptor.implementation_stride = sizeof(Earlier);
  descriptor.implementations = reinterpret_cast<const sluice_implementation*>(earlier);
  Registry registry;
  registry.add(init, "later.so");
  REQUIRE(registry.problems().empty());
  const sluice_stage_descriptor& d = *registry.find("later")->descriptor;
  CHECK(std::string(d.implementations[1].device) == "cuda");
  CHECK(d.implementations[1].doc == nullptr);
}

TEST_CASE("A stage that can't be right is refused when it is loaded") {
  begin();
  descriptor.kind = SLUICE_REGROUP;
  CHECK(problem_of_plugin() == "stage 'later': is a regroup with an implementation for 'cuda': only maps run on other devices than the CPU");
  begin();
  descriptor.kind = SLUICE_SOURCE;
  CHECK(problem_of_plugin() == "stage 'later': is a source with an implementation for 'cuda': only maps run on other devices than the CPU");
  begin();
  descriptor.row_name = "length";
  CHECK(problem_of_plugin() == "stage 'later': only sources and regroups name rows");
  begin();
  descriptor.kind = SLUICE_SOURCE;
  descriptor.implementation_count = 1;
  descriptor.row_name = "length";
  CHECK(problem_of_plugin() == "stage 'later': names rows by column 'length', which is no text");
  descriptor.row_name = "name";
  CHECK(problem_of_plugin() == "stage 'later': names rows by column 'name', which it does not give");
  begin();
  descriptor.row_length = "name";
  CHECK(problem_of_plugin() == "stage 'later': says that column 'name' is the length of a row, but not what is counted");
  descriptor.row_length_unit = "base";
  CHECK(problem_of_plugin() == "stage 'later': says that column 'name' is the length of a row, which it does not give");
  descriptor.row_length = "length";
  CHECK(problem_of_plugin() == "stage 'later': says that column 'length' is the length of a row, which is no list and no text");
  begin();
  descriptor.traits = SLUICE_TRAIT_PARTS;
  CHECK(problem_of_plugin() == "stage 'later': only sources and regroups have parts");
  descriptor.traits = SLUICE_TRAIT_POSITIONS;
  CHECK(problem_of_plugin() == "stage 'later': only sources have positions");
  begin();
  descriptor.struct_size = 16;
  CHECK(problem_of_plugin() == "has an incomplete descriptor");
  begin();
  info.stage = [](std::size_t) -> const sluice_stage_descriptor* { return nullptr; };
  CHECK(problem_of_plugin() == "has an incomplete descriptor");
}

TEST_CASE("A plugin may say that it can't be used here") {
  begin();
  refusal = "no Python on this machine";
  CHECK(problem_of_plugin() == "no Python on this machine");
  refusal = "";
  CHECK(problem_of_plugin() == "can't be used, and does not say why");
}
