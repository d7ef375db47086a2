// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A plan as a picture: SVG drawn here, or text that Graphviz or Mermaid draw.

#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace sluice {

// One <svg> element that needs nothing else, to be a file of its own or a part of an HTML page. Colours are CSS variables with defaults for a light
// page (--plan-text, --plan-line, --plan-stage, --plan-end, --plan-resource), so that a page can have its own.
std::string plan_svg(const Plan& plan);

// What the picture says besides; by the plan's stages, "": nothing.
struct PlanNotes {
  std::vector<std::string> below;  // in place of the stage's type
  std::vector<std::string> rows;   // at the lines from it
};
std::string plan_svg(const Plan& plan, const PlanNotes& notes);

// `dot -Tsvg` draws it.
std::string plan_dot(const Plan& plan);
// GitHub and many editors draw it in a ```mermaid block.
std::string plan_mermaid(const Plan& plan);

}  // namespace sluice
