// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "poa_consensus/heaviest_bundle.hpp"

#include <algorithm>

namespace sluice::poa_consensus {
namespace {

class Bundle {
 public:
  Bundle(const PartialOrderGraph& graph, BundleWorkspace& workspace) : graph_(graph), order_(graph.ranked()), workspace_(workspace) {
    const auto count = static_cast<std::size_t>(graph.node_count());
    workspace.score.assign(count, -1);
    workspace.predecessor.assign(count, -1);
    workspace.rank.resize(count);
    for (std::size_t i = 0; i < count; ++i) workspace.rank[static_cast<std::size_t>(order_[i])] = static_cast<std::int32_t>(i);
  }

  void walk(std::vector<std::int32_t>& path) {
    path.clear();
    if (order_.empty()) return;
    std::int32_t best = order_[0];
    for (const std::int32_t id : order_) {
      extend(id, Tails::all);
      if (score(id) > score(best)) best = id;
    }
    while (graph_.node(best).out_edges > 0) {
      const std::int32_t longer = complete(best);
      if (longer < 0) {
        const std::span<const std::int32_t> first = graph_.path(0);
        path.assign(first.begin(), first.end());
        return;
      }
      best = longer;
    }
    for (; best >= 0; best = predecessor(best)) path.push_back(best);
    std::reverse(path.begin(), path.end());
  }

 private:
  enum class Tails : std::uint8_t { all, scored };

  std::int64_t& score(std::int32_t id) const { return workspace_.score[static_cast<std::size_t>(id)]; }
  std::int32_t& predecessor(std::int32_t id) const { return workspace_.predecessor[static_cast<std::size_t>(id)]; }

  void extend(std::int32_t id, Tails tails) const {
    std::int64_t heaviest = -1;
    std::int32_t from = -1;
    for (std::int32_t e = graph_.node(id).first_in_edge; e >= 0; e = graph_.edge(e).next) {
      const auto& edge = graph_.edge(e);
      if (tails == Tails::scored && score(edge.tail) == -1) continue;
      if (heaviest < edge.weight || (heaviest == edge.weight && score(from) <= score(edge.tail))) {
        heaviest = edge.weight;
        from = edge.tail;
      }
    }
    score(id) = from >= 0 ? heaviest + score(from) : heaviest;
    predecessor(id) = from;
  }

  // The best path ended at a node that is not a sink. All that comes behind it is scored again, as if the heads of its edges could be reached from it
  // only. -1: no edge behind it weighs anything; spoa 4.0.8 reads a null pointer then.
  std::int32_t complete(std::int32_t ended) const {
    const auto rank = static_cast<std::size_t>(workspace_.rank[static_cast<std::size_t>(ended)]);
    for (std::size_t i = rank + 1; i < order_.size(); ++i) {
      if (!follows(order_[i], ended)) continue;
      for (std::int32_t e = graph_.node(order_[i]).first_in_edge; e >= 0; e = graph_.edge(e).next)
        if (graph_.edge(e).tail != ended) score(graph_.edge(e).tail) = -1;
    }
    std::int64_t most = 0;
    std::int32_t best = -1;
    for (std::size_t i = rank + 1; i < order_.size(); ++i) {
      extend(order_[i], Tails::scored);
      if (most < score(order_[i])) {
        most = score(order_[i]);
        best = order_[i];
      }
    }
    return best;
  }
  bool follows(std::int32_t id, std::int32_t tail) const {
    for (std::int32_t e = graph_.node(id).first_in_edge; e >= 0; e = graph_.edge(e).next)
      if (graph_.edge(e).tail == tail) return true;
    return false;
  }

  const PartialOrderGraph& graph_;
  std::span<const std::int32_t> order_;
  BundleWorkspace& workspace_;
};

}  // namespace

void heaviest_bundle(const PartialOrderGraph& graph, BundleWorkspace& workspace, std::vector<std::int32_t>& path) {
  Bundle(graph, workspace).walk(path);
}

std::int32_t column_coverage(const PartialOrderGraph& graph, std::int32_t node) {
  std::int32_t coverage = graph.node(node).coverage;
  for (std::int32_t a = graph.node(node).first_aligned; a >= 0; a = graph.aligned(a).next) coverage += graph.node(graph.aligned(a).node).coverage;
  return coverage;
}

}  // namespace sluice::poa_consensus
