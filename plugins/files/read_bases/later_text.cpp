// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <string_view>
#include <utility>

#include "read_bases/text_input.hpp"

namespace sluice::read_bases {
namespace {

constexpr std::uint64_t most_at_once = std::uint64_t{1} << 20;

// The same text from some letter on.
class LaterText : public TextInput {
 public:
  LaterText(std::unique_ptr<TextInput> input, std::uint64_t skipped) : input_(std::move(input)), left_(skipped) {}
  void set_growing(bool grows) override { input_->set_growing(grows); }
  bool could_end() const override { return input_->could_end(); }
  bool has_end_mark() const override { return input_->has_end_mark(); }
  std::uint64_t consumed() const override { return input_->consumed(); }
  Place place_of(std::uint64_t letter) const override { return input_->place_of(letter); }
  void forget_before(std::uint64_t letter) override { input_->forget_before(letter); }
  std::optional<std::uint64_t> letter_from(std::uint64_t offset) const override { return input_->letter_from(offset); }

  std::size_t read(std::size_t wanted, TextBuffer& text, const ParallelFor& parallel_for, Taker& taker) override {
    if (left_ == 0) return input_->read(wanted, text, parallel_for, taker);
    TextBuffer first;
    for (Nobody nobody; first.size() <= left_;) {
      left_ -= first.size();
      first.reset(0);
      if (input_->read(std::clamp<std::uint64_t>(left_, 1, most_at_once), first, parallel_for, nobody) == 0) return left_ = 0;
    }
    const std::string_view rest = std::string_view(first.data(), first.size()).substr(std::exchange(left_, 0));
    text.append(rest);
    taker.expect(1);
    taker.take(0, rest);
    return 1;
  }

 private:
  struct Nobody : Taker {
    void expect(std::size_t) override {}
    void take(std::size_t, std::string_view) override {}
  };
  std::unique_ptr<TextInput> input_;
  std::uint64_t left_;
};

}  // namespace

std::unique_ptr<TextInput> open_text_input_at(const std::string& path, FileHandle opened, const TextInput::Place& place) {
  std::unique_ptr<TextInput> input = open_text_input(path, std::move(opened), static_cast<std::int64_t>(place.offset));
  return place.letters == 0 ? std::move(input) : std::make_unique<LaterText>(std::move(input), place.letters);
}

}  // namespace sluice::read_bases
