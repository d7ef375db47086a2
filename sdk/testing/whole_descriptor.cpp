// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "testing/whole_descriptor.hpp"

#include <sluice/descriptor_check.hpp>
#include <string_view>
#include <utility>

namespace sluice::testing::detail {

namespace {

using sluice::detail::called;
using sluice::detail::is_empty;

class WholeDescriptor {
 public:
  explicit WholeDescriptor(const sluice_stage_descriptor& stage) : d_(stage) {}

  std::vector<std::string> problems() && {
    if (d_.struct_size < sizeof(sluice_stage_descriptor)) return {"struct_size is too small"};
    if (std::string text = descriptor_problem(d_); !text.empty()) return {text};
    check_itself();
    check_docs();
    for (std::size_t i = 0; i < d_.parameter_count; ++i) check_parameter(d_.parameters[i]);
    return std::move(problems_);
  }

 private:
  void problem(const std::string& text) { problems_.push_back(text); }

  void check_itself() {
    if (is_empty(d_.summary)) problem("no summary");
    if (is_empty(d_.doc)) problem("no doc");
    if (is_empty(d_.work_unit)) problem("no work unit");
    if ((d_.kind == SLUICE_SOURCE || d_.kind == SLUICE_RESOURCE) && !is_empty(d_.input.row_type)) problem("input row type does not fit the kind");
    if (d_.kind == SLUICE_SINK && !is_empty(d_.output.row_type)) problem("output row type does not fit the kind");
    if (d_.kind == SLUICE_SINK && d_.output.column_count != 0) problem("a sink gives columns");
    if ((d_.traits & SLUICE_TRAIT_ORDERED) == 0 && (d_.traits & SLUICE_TRAIT_RESTARTABLE) != 0) problem("restartable without ordered");
    if (d_.kind != SLUICE_MAP) return;
    if (std::string_view(d_.input.row_type) != d_.output.row_type) problem("a map changes the row type");
    for (std::size_t i = 0; i < d_.input.column_count; ++i)
      if (sluice::detail::find_column(d_.output, d_.input.columns[i].name) != nullptr)
        problem(called("column", d_.input.columns[i].name) + " is both needed and given");
  }

  // Columns that are needed are described by who gives them.
  void check_docs() {
    const auto check = [&](const char* what, const char* name, const char* doc) {
      if (is_empty(doc)) problem(called(what, name) + " has no doc");
    };
    for (std::size_t i = 0; i < d_.output.column_count; ++i) check("output column", d_.output.columns[i].name, d_.output.columns[i].doc);
    for (std::size_t i = 0; i < d_.parameter_count; ++i) check("parameter", d_.parameters[i].name, d_.parameters[i].help);
    for (std::size_t i = 0; i < d_.resource_count; ++i) check("resource slot", d_.resources[i].name, d_.resources[i].doc);
    for (std::size_t i = 0; i < d_.reason_count; ++i) check("reason", d_.reasons[i].code, d_.reasons[i].doc);
    for (std::size_t i = 0; i < d_.implementation_count; ++i) check("implementation", d_.implementations[i].device, d_.implementations[i].doc);
  }

  void check_parameter(const sluice_parameter& p) {
    const std::string name = called("parameter", p.name);
    if (p.minimum > p.maximum) problem(name + " has its minimum above its maximum");
    if (p.required != 0 && p.default_value.is_set != 0) problem(name + " is required and has a default");
    if (p.default_value.is_set == 0) return;
    if (p.default_value.type != p.type) problem(name + " has a default of another type");
    const double number = p.type == SLUICE_FLOAT ? p.default_value.real : static_cast<double>(p.default_value.integer);
    const bool numeric = p.type == SLUICE_INT || p.type == SLUICE_FLOAT || p.type == SLUICE_SIZE;
    if (numeric && (p.minimum != 0 || p.maximum != 0) && !(number >= p.minimum && number <= p.maximum))
      problem(name + " has its default outside its range");
    if (p.type != SLUICE_CHOICE) return;
    for (const char* const* choice = p.choices; *choice != nullptr; ++choice)
      if (std::string_view(*choice) == p.default_value.text) return;
    problem(name + " has a default that is no choice");
  }

  const sluice_stage_descriptor& d_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> whole_descriptor_problems(const sluice_stage_descriptor& stage) { return WholeDescriptor(stage).problems(); }

}  // namespace sluice::testing::detail
