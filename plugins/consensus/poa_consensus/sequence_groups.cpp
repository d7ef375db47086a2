// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "poa_consensus/sequence_groups.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace sluice::poa_consensus {
namespace {

using Group = std::vector<std::int32_t>;

constexpr std::int8_t other_allele = -1;  // neither of the column's two, or the sequence does not reach the column
constexpr int most_moves = 20;
// Of the sequences of a group those that must have its allele in a column for the column to divide.
constexpr double agreement = 0.8;

// A column with two frequent alleles.
struct Site {
  std::vector<std::int8_t> allele;  // of each sequence: 0, 1 or other_allele
  bool has_gap;                     // one of the two is a gap
};

class Grouping {
 public:
  Grouping(const PartialOrderGraph& graph, Template first, const GroupRules& rules) : rules_(rules) {
    const std::int32_t guides = first == Template::is_guide ? 1 : 0;
    sequences_ = graph.sequence_count() - guides;
    list_columns(graph, guides);
  }

  std::vector<Group> divide() {
    std::vector<Group> groups(1, Group(static_cast<std::size_t>(sequences_)));
    std::iota(groups[0].begin(), groups[0].end(), 0);
    // What did not divide will not.
    for (std::size_t tried = 0; tried < groups.size() && static_cast<std::int32_t>(groups.size()) < rules_.most_groups;) {
      Group rest;
      if (!divide(groups[tried], rest)) {
        ++tried;
        continue;
      }
      groups.push_back(std::move(rest));
      tried = 0;
    }
    std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) { return a.size() > b.size(); });
    return groups;
  }

 private:
  std::size_t least() const { return static_cast<std::size_t>(std::max(2.0, std::ceil(rules_.min_frequency * sequences_))); }

  // Of every sequence its node in the columns that may tell sequences apart; a gap within a sequence is -1, what lies in front of it or behind it
  // absent.
  void list_columns(const PartialOrderGraph& graph, std::int32_t guides) {
    constexpr std::int32_t absent = -2, passed_over = -1;
    std::vector<std::int32_t> column_of_node(static_cast<std::size_t>(graph.node_count())), kept;
    const std::span<const std::int32_t> order = graph.ranked();
    std::int32_t columns = 0;
    for (std::size_t i = 0; i < order.size(); ++columns) {
      const std::size_t begin = i;
      std::int32_t letters = 0;
      std::size_t frequent = 0;
      for (const std::int32_t column = graph.node(order[i]).column; i < order.size() && graph.node(order[i]).column == column; ++i) {
        column_of_node[static_cast<std::size_t>(order[i])] = columns;
        letters += graph.node(order[i]).sequences;
        frequent += static_cast<std::size_t>(graph.node(order[i]).sequences) >= least() ? 1 : 0;
      }
      frequent += static_cast<std::size_t>(std::max(0, sequences_ + guides - letters)) >= least() ? 1 : 0;
      kept.push_back(begin < i && frequent > 1 ? static_cast<std::int32_t>(columns_.size()) : passed_over);
      if (kept.back() != passed_over) columns_.emplace_back(static_cast<std::size_t>(sequences_), absent);
    }
    for (std::int32_t s = 0; s < sequences_; ++s) {
      std::int32_t next = columns;
      const auto set = [&](std::int32_t column, std::int32_t node) {
        const std::int32_t place = kept[static_cast<std::size_t>(column)];
        if (place != passed_over) columns_[static_cast<std::size_t>(place)][static_cast<std::size_t>(s)] = node;
      };
      for (const std::int32_t id : graph.path(s + guides)) {
        const std::int32_t column = column_of_node[static_cast<std::size_t>(id)];
        for (; next < column; ++next) set(next, -1);
        set(column, id);
        next = column + 1;
      }
    }
  }

  std::vector<Site> sites_of(const Group& group) const {
    std::vector<Site> sites;
    std::vector<std::int32_t> present;
    for (const std::vector<std::int32_t>& column : columns_) {
      present.clear();
      for (const std::int32_t s : group)
        if (column[static_cast<std::size_t>(s)] >= -1) present.push_back(column[static_cast<std::size_t>(s)]);
      std::sort(present.begin(), present.end());
      std::array<std::int32_t, 2> allele{};
      std::array<std::size_t, 2> count{};
      for (auto begin = present.begin(); begin != present.end();) {
        const auto end = std::upper_bound(begin, present.end(), *begin);
        const auto size = static_cast<std::size_t>(end - begin);
        if (size > count[0]) {
          count[1] = count[0], allele[1] = allele[0];
          count[0] = size, allele[0] = *begin;
        } else if (size > count[1]) {
          count[1] = size, allele[1] = *begin;
        }
        begin = end;
      }
      if (count[1] < least()) continue;
      Site site{{}, allele[0] == -1 || allele[1] == -1};
      for (const std::int32_t s : group) {
        const std::int32_t own = column[static_cast<std::size_t>(s)];
        site.allele.push_back(own == allele[0] ? std::int8_t{0} : own == allele[1] && own >= -1 ? std::int8_t{1} : other_allele);
      }
      sites.push_back(std::move(site));
    }
    return sites;
  }

  // How well the other sites go with one, beyond what chance gives.
  static double support(const std::vector<Site>& sites, std::size_t which) {
    double sum = 0;
    for (std::size_t other = 0; other < sites.size(); ++other) {
      if (other == which) continue;
      double same = 0, different = 0;
      for (std::size_t i = 0; i < sites[which].allele.size(); ++i) {
        const std::int8_t a = sites[which].allele[i], b = sites[other].allele[i];
        if (a < 0 || b < 0) continue;
        (a == b ? same : different) += 1;
      }
      if (same + different > 0) sum += std::max(same, different) / (same + different) - 0.5;
    }
    return sum;
  }

  // The allele that most of a half have at a site; -1: none has one.
  static std::int8_t allele_of(const Site& site, const std::vector<std::uint8_t>& half, std::uint8_t which, double& share) {
    std::array<double, 2> count{};
    for (std::size_t i = 0; i < half.size(); ++i)
      if (half[i] == which && site.allele[i] >= 0) ++count[static_cast<std::size_t>(site.allele[i])];
    share = count[0] + count[1] > 0 ? std::max(count[0], count[1]) / (count[0] + count[1]) : 0;
    return share == 0 ? other_allele : count[1] > count[0] ? std::int8_t{1} : std::int8_t{0};
  }

  // Moves sequences to the half that they have more alleles of, until none moves.
  static void settle(const std::vector<Site>& sites, std::vector<std::uint8_t>& half) {
    for (int move = 0; move < most_moves; ++move) {
      std::vector<std::int32_t> balance(half.size());
      for (const Site& site : sites) {
        double share = 0;
        const std::int8_t first = allele_of(site, half, 0, share), second = allele_of(site, half, 1, share);
        if (first < 0 || second < 0 || first == second) continue;
        for (std::size_t i = 0; i < half.size(); ++i)
          if (site.allele[i] >= 0) balance[i] += site.allele[i] == first ? 1 : -1;
      }
      bool has_moved = false;
      for (std::size_t i = 0; i < half.size(); ++i) {
        if (balance[i] == 0 || (balance[i] < 0) == (half[i] == 1)) continue;
        half[i] ^= 1U;
        has_moved = true;
      }
      if (!has_moved) return;
    }
  }

  static bool tells_apart(const std::vector<Site>& sites, const std::vector<std::uint8_t>& half) {
    int letters = 0, gaps = 0;
    for (const Site& site : sites) {
      double first_share = 0, second_share = 0;
      const std::int8_t first = allele_of(site, half, 0, first_share), second = allele_of(site, half, 1, second_share);
      if (first < 0 || second < 0 || first == second || first_share < agreement || second_share < agreement) continue;
      ++(site.has_gap ? gaps : letters);
    }
    return letters > 0 || gaps > 1;
  }

  // Takes what is of another haplotype out of `group` into `rest`.
  bool divide(Group& group, Group& rest) const {
    if (group.size() < 2 * least()) return false;
    const std::vector<Site> sites = sites_of(group);
    if (sites.empty()) return false;
    std::size_t best = 0;
    double most = -1;
    for (std::size_t i = 0; i < sites.size(); ++i) {
      // Sites of letters come first where nothing else decides.
      const double worth = support(sites, i) + (sites[i].has_gap ? 0 : 1e-6);
      if (worth <= most) continue;
      most = worth;
      best = i;
    }
    std::vector<std::uint8_t> half;
    for (const std::int8_t allele : sites[best].allele) half.push_back(allele == 1 ? 1 : 0);
    settle(sites, half);
    const auto in_second = static_cast<std::size_t>(std::count(half.begin(), half.end(), std::uint8_t{1}));
    if (in_second < least() || group.size() - in_second < least() || !tells_apart(sites, half)) return false;
    Group kept;
    for (std::size_t i = 0; i < group.size(); ++i) (half[i] == 0 ? kept : rest).push_back(group[i]);
    group = std::move(kept);
    return true;
  }

  GroupRules rules_;
  std::int32_t sequences_ = 0;
  std::vector<std::vector<std::int32_t>> columns_;
};

}  // namespace

std::vector<std::vector<std::int32_t>> group_sequences(const PartialOrderGraph& graph, Template first, const GroupRules& rules) {
  return Grouping(graph, first, rules).divide();
}

}  // namespace sluice::poa_consensus
