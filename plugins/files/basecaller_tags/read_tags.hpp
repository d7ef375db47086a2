// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the tags of a basecaller say of a read's signal (dorado's SAM specification, its change log, and its output files).

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::basecaller_tags {

// Views into the tags. A tag of another type than its own is none: minimap2 writes ts:A beside dorado's ts:i.
struct ReadTags {
  std::optional<std::int64_t> ts, ns, sp, dx, pt;
  std::string_view pi, st, sv, barcode, read_group, description;
  std::string_view program;            // name, blank, version
  std::span<const std::int8_t> moves;  // mv: the stride, then 0 or 1 for each stride of samples; empty: none
  std::vector<std::int32_t> pa;
  std::optional<float> du;  // s
};
// `tags`: as BAM has them. Those behind a damaged one are not there.
ReadTags parse(std::string_view tags);

// Is the program dorado, of a version before major.minor? Nothing: it is not dorado, or says no version.
std::optional<bool> is_dorado_before(std::string_view program, int major, int minor);

// The value of key=value in a description (DS) of words with blanks between them; "": none.
std::string_view value_of(std::string_view description, std::string_view key);

enum class MoveState : std::uint8_t {
  none,     // no moves, or none that anything is known by: no ts and ns
  doubted,  // cut at the wrong end: direct RNA with a barcode, dorado before 1.4.0
  broken,   // not those of so many bases and samples
  sound,
};
// bases: of the whole read, < 0: unknown.
MoveState state_of_moves(const ReadTags& tags, std::int64_t bases);

// The columns basecaller_poly_a and basecaller_poly_a_place. What no basecaller writes (a tail of fewer than -1 bases, one that ends before it
// begins) is taken for what was not said.
std::int32_t poly_a_bases(const ReadTags& tags);
std::vector<std::int32_t> poly_a_place(const ReadTags& tags);

// The column signal_part: {} where no tag says which part of the signal is the read's; {ts, ns} of a read that is not split (ns = -1: up to the end);
// {ts, ns, sp, ms, front} of a split one. sp = -1: unknown; ms: its start since 1970 UTC, -1: unknown; front: samples that were cut from the parent
// before it was split and that sp does not count, by the version of dorado, -1: unknown. What can't be (ns <= ts) stays, for signal_lookup to refuse.
std::vector<std::int64_t> signal_part(const ReadTags& tags, std::string_view read_id, MoveState moves);

}  // namespace sluice::basecaller_tags
