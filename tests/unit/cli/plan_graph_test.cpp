// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// `sluice plan --graph`: what is drawn, and that boxes do not lie on each other.
#include <doctest/doctest.h>

#include <cmath>
#include <regex>
#include <vector>

#include "program.hpp"

using namespace program;

namespace {

struct Box {
  double x, y, width, height;
};

std::vector<Box> boxes_of(const std::string& svg) {
  static const std::regex rect(R"re(<rect class="[^"]*" x="([-0-9.]+)" y="([-0-9.]+)" width="([-0-9.]+)" height="([-0-9.]+)")re");
  std::vector<Box> boxes;
  for (std::sregex_iterator it(svg.begin(), svg.end(), rect), end; it != end; ++it)
    boxes.push_back({std::stod((*it)[1]), std::stod((*it)[2]), std::stod((*it)[3]), std::stod((*it)[4])});
  return boxes;
}

bool overlap(const Box& a, const Box& b) { return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height; }

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

}  // namespace

TEST_CASE("the picture of a plan has a box for every stage, none on another, and all inside") {
  const Folder folder;
  for (const std::string pipeline : {"map", "methylation", "read_until", "polish", "simulate", "train_kmer_model"}) {
    CAPTURE(pipeline);
    const std::string file = folder.path(pipeline + ".svg");
    const auto outcome = run({"plan", pipeline, "--graph", file});
    REQUIRE(outcome.code == 0);
    CHECK(outcome.out.empty());
    const std::string svg = folder.read(pipeline + ".svg");
    CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    CHECK(svg.ends_with("</svg>\n"));
    const std::string dot = run({"plan", pipeline, "--dot"}).out;
    const std::vector<Box> boxes = boxes_of(svg);
    CHECK(boxes.size() == count(dot, "[label=\"") - count(dot, "-> ") + count(dot, "[style=dashed]"));
    CHECK(count(svg, "class=\"rows\"") + count(svg, "class=\"resource\" marker") + count(svg, "class=\"feedback\"") == count(dot, " -> "));
    std::smatch size;
    REQUIRE(std::regex_search(svg, size, std::regex(R"re(viewBox="0 0 (\d+) (\d+)")re")));
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      CHECK(boxes[i].x >= 0);
      CHECK(boxes[i].x + boxes[i].width <= std::stod(size[1]));
      CHECK(boxes[i].y + boxes[i].height <= std::stod(size[2]));
      for (std::size_t k = i + 1; k < boxes.size(); ++k) CHECK_FALSE(overlap(boxes[i], boxes[k]));
    }
  }
}

TEST_CASE("the ending of --graph says how the plan is drawn") {
  const Folder folder;
  const std::string dot = folder.path("plan.dot"), mermaid = folder.path("plan.mmd");
  CHECK(run({"plan", "map", "--graph", dot}).code == 0);
  CHECK(folder.read("plan.dot") == run({"plan", "map", "--dot"}).out);
  CHECK(run({"plan", "map", "--graph", mermaid}).code == 0);
  CHECK(folder.read("plan.mmd").starts_with("flowchart TD\n"));
  const auto other = run({"plan", "map", "--graph", folder.path("plan.png")});
  CHECK(other.code == 2);
  CHECK(other.says("end it in .svg, .mmd or .dot"));
  const auto nowhere = run({"plan", "map", "--graph", folder.path("no/such/plan.svg")});
  CHECK(nowhere.code != 0);
  CHECK(nowhere.says("--graph: "));
}
