// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/stage_graph.hpp"

#include <algorithm>
#include <unordered_map>

namespace sluice {
namespace {

bool passes_rows_on(const GraphStage& stage) { return stage.kind == SLUICE_MAP || stage.kind == 0 || stage.same_rows; }

void add_once(std::vector<std::size_t>& list, std::size_t item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

// The inputs as written, disabled stages included.
std::vector<std::vector<std::size_t>> written_inputs(const std::vector<GraphStage>& stages, Diagnostics& diagnostics, bool& whole) {
  std::unordered_map<std::string, std::size_t> index_of;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    index_of.emplace(stages[i].name, i);
    names.push_back(stages[i].name);
  }
  std::vector<std::vector<std::size_t>> inputs(stages.size());
  std::optional<std::size_t> last_that_gives_rows;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const GraphStage& stage = stages[i];
    const auto error = [&](const Location& where, const std::string& message, const std::string& remedy) {
      diagnostics.error(where, stage.name, message, remedy);
      whole = false;
    };
    if (stage.kind == SLUICE_SOURCE) {
      if (stage.inputs && !stage.inputs->empty()) error(stage.inputs->front().second, "a source has no inputs", "remove inputs");
    } else if (stage.inputs) {
      if (stage.inputs->empty()) error(stage.where, "the list of inputs is empty", "name a stage, or leave inputs out for the stage before");
      for (const auto& [name, where] : *stage.inputs) {
        const auto found = index_of.find(name);
        if (found == index_of.end()) {
          const std::string near = nearest_name(name, names);
          error(where, "unknown input '" + name + "'", near.empty() ? "name one of the stages of this file" : "did you mean '" + near + "'?");
        } else if (stages[found->second].kind == SLUICE_SINK) {
          error(where, "input '" + name + "' is a sink: it gives no rows", "name the stage that the sink reads from");
        } else {
          add_once(inputs[i], found->second);
        }
      }
    } else if (last_that_gives_rows) {
      inputs[i].push_back(*last_that_gives_rows);
    } else if (stage.kind != 0) {
      error(stage.where, "no stage before it gives rows", "begin with a source, or name its inputs");
    }
    if (stage.kind != SLUICE_SINK) last_that_gives_rows = i;
  }
  return inputs;
}

}  // namespace

std::optional<std::vector<std::size_t>> dependency_order(const std::vector<std::vector<std::size_t>>& edges, std::vector<std::size_t>& cycle) {
  enum class Mark : std::uint8_t { fresh, open, done };
  std::vector<Mark> marks(edges.size(), Mark::fresh);
  std::vector<std::size_t> order;
  std::vector<std::pair<std::size_t, std::size_t>> path;  // node, next edge to follow
  for (std::size_t root = 0; root < edges.size(); ++root) {
    if (marks[root] != Mark::fresh) continue;
    path.push_back({root, 0});
    marks[root] = Mark::open;
    while (!path.empty()) {
      auto& [node, next] = path.back();
      if (next == edges[node].size()) {
        marks[node] = Mark::done;
        order.push_back(node);
        path.pop_back();
        continue;
      }
      const std::size_t target = edges[node][next++];
      if (marks[target] == Mark::open) {
        auto start = std::find_if(path.begin(), path.end(), [&](const auto& step) { return step.first == target; });
        for (; start != path.end(); ++start) cycle.push_back(start->first);
        cycle.push_back(target);
        return std::nullopt;
      }
      if (marks[target] == Mark::fresh) {
        marks[target] = Mark::open;
        path.push_back({target, 0});
      }
    }
  }
  return order;
}

StageGraph connect_stages(const std::vector<GraphStage>& stages, Diagnostics& diagnostics) {
  const std::size_t count = stages.size();
  StageGraph graph;
  graph.whole = true;
  graph.present.assign(count, 0);
  graph.inputs.resize(count);
  const auto written = written_inputs(stages, diagnostics, graph.whole);

  std::vector<std::size_t> cycle;
  const auto order = dependency_order(written, cycle);
  if (!order) {
    std::string names;
    for (auto it = cycle.rbegin(); it != cycle.rend(); ++it) names += (names.empty() ? "" : " -> ") + stages[*it].name;
    diagnostics.error(stages[cycle.front()].where, stages[cycle.front()].name, "the stages feed each other in a circle: " + names,
                      "change the inputs of one of them");
    graph.whole = false;
    return graph;
  }

  // Sources first: what stands in for each stage as somebody's input.
  std::vector<std::vector<std::size_t>> stand_ins(count);
  for (const std::size_t i : *order) {
    for (const std::size_t input : written[i])
      for (const std::size_t stand_in : stand_ins[input]) add_once(graph.inputs[i], stand_in);
    graph.present[i] = stages[i].enabled && (stages[i].kind == SLUICE_SOURCE || !graph.inputs[i].empty());
    if (graph.present[i])
      stand_ins[i] = {i};
    else if (!stages[i].enabled && passes_rows_on(stages[i]))
      stand_ins[i] = graph.inputs[i];
  }

  // Sinks first: a stage that only fed stages which are gone has nothing to do.
  std::vector<std::uint8_t> had_consumers(count, 0), has_consumers(count, 0);
  for (std::size_t i = 0; i < count; ++i)
    for (const std::size_t input : written[i]) had_consumers[input] = 1;
  for (auto it = order->rbegin(); it != order->rend(); ++it) {
    const std::size_t i = *it;
    if (graph.present[i] && had_consumers[i] && !has_consumers[i]) graph.present[i] = 0;
    if (graph.present[i])
      for (const std::size_t input : graph.inputs[i]) has_consumers[input] = 1;
    else
      graph.inputs[i].clear();
  }
  return graph;
}

}  // namespace sluice
