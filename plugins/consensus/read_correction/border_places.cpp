// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/border_places.hpp"

#include <algorithm>
#include <cstdlib>

namespace sluice::read_correction {
namespace {

// Cells of the largest stretch between two anchors that is aligned: about 2,000 bases of both sequences, 1 MB of traces.
constexpr std::int64_t max_cells = std::int64_t{1} << 22;

// Letters of the read beside `letters` of the template.
std::int32_t enough(std::int32_t letters) { return letters + letters / 3 + 10; }

class Places {
 public:
  Places(const PackedBases& template_bases, const PackedBases& read, std::span<const Anchor> anchors, std::int32_t differences_pct,
         BorderWorkspace& workspace)
      : template_(template_bases), read_(read), anchors_(anchors), differences_pct_(differences_pct), workspace_(workspace) {}

  // Borders must come ascending.
  std::int32_t find(std::int32_t border) {
    while (next_ < anchors_.size() && anchors_[next_].template_end() < border) ++next_;
    if (next_ == anchors_.size()) return behind_the_last(border);
    const Anchor& anchor = anchors_[next_];
    if (anchor.template_begin <= border) return anchor.read_begin + (border - anchor.template_begin);
    return next_ == 0 ? before_the_first(border) : between(border);
  }

 private:
  std::int32_t allowed_differences(std::int32_t letters) const { return 3 + differences_pct_ * letters / 100; }
  // This and the next are valid until their next call.
  std::string_view of_template(std::int32_t begin, std::int32_t end) const {
    template_.letters(begin, end, workspace_.of_template);
    return workspace_.of_template;
  }
  std::string_view of_read(std::int32_t begin, std::int32_t end) const {
    read_.letters(begin, end, workspace_.of_read);
    return workspace_.of_read;
  }

  std::int32_t behind_the_last(std::int32_t border) {
    const Anchor& anchor = anchors_.back();
    const std::int32_t letters = border - anchor.template_end();
    const std::int32_t there = read_.size() - anchor.read_end();
    if (letters > max_end_stretch || there < letters - letters / 4) return unknown_place;
    workspace_.aligner.set_pattern(of_template(anchor.template_end(), border));
    const auto prefix = workspace_.aligner.best_prefix(of_read(anchor.read_end(), anchor.read_end() + std::min(there, enough(letters))));
    return prefix.distance <= allowed_differences(letters) ? anchor.read_end() + prefix.letters : unknown_place;
  }

  std::int32_t before_the_first(std::int32_t border) {
    const Anchor& anchor = anchors_.front();
    const std::int32_t letters = anchor.template_begin - border;
    if (letters > max_end_stretch || anchor.read_begin < letters - letters / 4) return unknown_place;
    const auto reverse_of = [](std::string_view text, std::string& reversed) { reversed.assign(text.rbegin(), text.rend()); };
    reverse_of(of_template(border, anchor.template_begin), workspace_.reversed_template);
    reverse_of(of_read(anchor.read_begin - std::min(anchor.read_begin, enough(letters)), anchor.read_begin), workspace_.reversed_read);
    workspace_.aligner.set_pattern(workspace_.reversed_template);
    const auto prefix = workspace_.aligner.best_prefix(workspace_.reversed_read);
    return prefix.distance <= allowed_differences(letters) ? anchor.read_begin - prefix.letters : unknown_place;
  }

  std::int32_t between(std::int32_t border) {
    if (aligned_ != next_) align_stretch();
    if (!is_alike_) return unknown_place;
    if (is_in_band_) return at_read_ + workspace_.stretch.letters_before(border - at_template_);
    // On along the path from where the border before this one was.
    while (at_template_ < border) {
      PathRun& run = workspace_.runs[at_run_];
      const std::int32_t steps = run.step == PathStep::text_only ? run.length : std::min(run.length, border - at_template_);
      if (run.step != PathStep::text_only) at_template_ += steps;
      if (run.step != PathStep::pattern_only) at_read_ += steps;
      run.length -= steps;
      if (run.length == 0) ++at_run_;
    }
    return at_read_;
  }

  // The stretch before anchor next_.
  void align_stretch() {
    aligned_ = next_;
    const Anchor& before = anchors_[next_ - 1];
    const Anchor& behind = anchors_[next_];
    const std::int32_t on_template = behind.template_begin - before.template_end(), on_read = behind.read_begin - before.read_end();
    at_template_ = before.template_end();
    at_read_ = before.read_end();
    at_run_ = 0;
    is_alike_ = false;
    if (static_cast<std::int64_t>(on_template) * on_read > max_cells) return;
    const std::int32_t allowed = allowed_differences(std::max(on_template, on_read));
    if (std::abs(on_template - on_read) > allowed) return;
    is_in_band_ = false;
    if (StretchAlignment::has_room(on_template, on_read)) {
      const bool has_others =
          template_.has_others(before.template_end(), behind.template_begin) || read_.has_others(before.read_end(), behind.read_begin);
      const std::int32_t differences =
          has_others
              ? workspace_.stretch.align(of_template(before.template_end(), behind.template_begin), of_read(before.read_end(), behind.read_begin))
              : workspace_.stretch.align({template_, before.template_end(), on_template}, {read_, before.read_end(), on_read});
      is_in_band_ = StretchAlignment::is_in_band(on_template, on_read, std::min(differences, allowed));
      is_alike_ = is_in_band_ && differences <= allowed;
    }
    if (is_in_band_) return;
    workspace_.aligner.set_pattern(of_template(before.template_end(), behind.template_begin));
    is_alike_ = workspace_.aligner.align(of_read(before.read_end(), behind.read_begin)) <= allowed;
    if (is_alike_) workspace_.aligner.path(workspace_.runs);
  }

  const PackedBases &template_, &read_;
  std::span<const Anchor> anchors_;
  std::int32_t differences_pct_;
  BorderWorkspace& workspace_;
  std::size_t next_ = 0;
  std::size_t aligned_ = 0;  // the anchor behind the aligned stretch; 0: none is
  bool is_alike_ = false, is_in_band_ = false;
  std::size_t at_run_ = 0;
  std::int32_t at_template_ = 0, at_read_ = 0;
};

}  // namespace

void find_border_places(std::span<const std::int32_t> borders, const PackedBases& template_bases, const PackedBases& read,
                        std::span<const Anchor> anchors, std::int32_t differences_pct, BorderWorkspace& workspace,
                        std::vector<std::int32_t>& places) {
  places.assign(borders.size(), unknown_place);
  if (anchors.empty()) return;
  Places finder(template_bases, read, anchors, differences_pct, workspace);
  for (std::size_t i = 0; i < borders.size(); ++i) places[i] = finder.find(borders[i]);
}

}  // namespace sluice::read_correction
