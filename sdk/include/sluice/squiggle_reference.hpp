// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A view of the expected squiggles of reference sequences, and the integers in which normalised current is written.
//
// Signal and reference are compared as small integers, so that scores are exact sums and the same on every machine: current minus its shift,
// divided by its scale, times squiggle_steps, rounded to the nearest integer (ties away from zero), and clipped to +-squiggle_limit. The scale is
// chosen such that one unit is about one standard deviation of the levels of a long sequence; 16 steps a unit lose no accuracy (README.md of
// squiggle_reference says what was measured), and a limit of 63 keeps a Manhattan cost within 126.

#include <cstdint>
#include <sluice/batch.hpp>
#include <sluice/failure.hpp>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

inline constexpr std::int32_t squiggle_steps = 16;
inline constexpr std::int32_t squiggle_limit = 63;
// Single samples (query_sample) have finer steps, within +-4 * squiggle_limit: they are averaged before they are compared.
inline constexpr std::int32_t squiggle_sample_steps = 4 * squiggle_steps, squiggle_sample_limit = 4 * squiggle_limit;

// The level of a k-mer with a letter that is none of A, C, G, T: as far from all other levels as can be, so that an alignment crosses one such
// letter at a price, and no long run of them.
inline constexpr std::int16_t squiggle_unknown_level = squiggle_limit;

// `current` in so many steps a unit, within +-limit. Not finite: the limit.
constexpr std::int16_t squiggle_quantized(float current, float shift, float scale, std::int32_t steps_of_unit = squiggle_steps,
                                          std::int32_t limit_in_steps = squiggle_limit) {
  const float steps = (current - shift) / scale * static_cast<float>(steps_of_unit);
  const auto limit = static_cast<float>(limit_in_steps);
  if (!(steps < limit)) return static_cast<std::int16_t>(limit_in_steps);
  if (steps <= -limit) return static_cast<std::int16_t>(-limit_in_steps);
  return static_cast<std::int16_t>(steps < 0.0F ? steps - 0.5F : steps + 0.5F);
}
// The same of a single sample, in squiggle_sample_steps.
constexpr std::int16_t squiggle_sample_quantized(float current, float shift, float scale) {
  return squiggle_quantized(current, shift, scale, squiggle_sample_steps, squiggle_sample_limit);
}

// Which end of a strand passes the pore first: the 5' end of DNA, the 3' end of direct RNA.
enum class FirstEnd : std::uint8_t { five_prime, three_prime };
inline FirstEnd first_end_of(std::string_view pore) { return pore.starts_with("rna") ? FirstEnd::three_prime : FirstEnd::five_prime; }

// One target of a squiggle reference. A list has one level a k-mer, size = length - k + 1 of them, in the order in which they pass the pore. Of DNA
// forward_level[i] belongs to the k-mer at position i of the contig, reverse_level[i] to the k-mer of the reverse complement whose bases lie at
// positions size - 1 - i to size - 1 - i + k - 1 of the contig; of RNA it is the other way round. A list is empty when the contig is shorter than k,
// and when reads of its strand are no targets.
struct SquiggleTarget {
  std::string_view name;
  std::span<const std::int16_t> forward_level;
  std::span<const std::int16_t> reverse_level;
};

// The targets of a resource batch of row type "squiggle_target". The arrays belong to the resource and outlive the view.
class SquiggleReferenceView {
 public:
  // Throws Failure when the batch was made with other steps or another limit, or has no level at all.
  explicit SquiggleReferenceView(const Batch& reference)
      : name_(reference.text("name")),
        forward_(reference.list<std::int16_t>("forward_level")),
        reverse_(reference.list<std::int16_t>("reverse_level")),
        first_end_(first_end_of(reference.attribute("pore"))) {
    if (reference.attribute("steps") != std::to_string(squiggle_steps) || reference.attribute("limit") != std::to_string(squiggle_limit))
      throw Failure::input("the squiggle reference was made for other steps or another limit than this stage", "build both for the same SDK");
    if (levels() == 0) throw Failure::input("the squiggle reference has no level: every contig is shorter than a k-mer", "give a longer target");
  }

  FirstEnd first_end() const { return first_end_; }
  std::int64_t targets() const { return name_.rows(); }
  SquiggleTarget operator[](std::int64_t target) const { return {name_[target], forward_[target], reverse_[target]}; }
  // Levels of all targets, both strands.
  std::int64_t levels() const { return static_cast<std::int64_t>(forward_.values().size() + reverse_.values().size()); }

 private:
  TextView name_;
  ListView<std::int16_t> forward_;
  ListView<std::int16_t> reverse_;
  FirstEnd first_end_;
};

}  // namespace sluice
