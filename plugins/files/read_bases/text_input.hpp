// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The text of a file, a pipe or whatever else HTSlib opens; plain, BGZF, gzip or zstd; read and decompressed on as many threads as it allows.

#include <htslib/hfile.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <sluice/failure.hpp>
#include <sluice/kept_buffer.hpp>
#include <string>
#include <string_view>

namespace sluice::read_bases {

// body(i) for each i below count, on any thread and in any order; back when all are done.
using ParallelFor = std::function<void(std::size_t count, const std::function<void(std::size_t)>& body)>;

// Memory that text is appended to. What is there is moved when it grows, and new bytes have any value.
class TextBuffer {
 public:
  char* data() { return text_.data(); }
  const char* data() const { return text_.data(); }
  std::size_t size() const { return text_.size(); }
  std::size_t capacity() const { return text_.room(); }
  // Room for so many more bytes, which then count.
  char* append(std::size_t bytes) { return text_.append(bytes); }
  void append(std::string_view text) { text_.append(text); }
  // Takes bytes away at the end.
  void cut(std::size_t size) { text_.set_size(size); }
  // Empty, and as large as need be: memory that is much larger than that is given back.
  void reset(std::size_t capacity) {
    text_.give_back_beyond(4 * capacity + 3);
    text_.start(0, capacity);
  }

 private:
  KeptBuffer<char> text_;
};

struct CloseFile {
  void operator()(hFILE* file) const { hclose_abruptly(file); }
};
using FileHandle = std::unique_ptr<hFILE, CloseFile>;

class TextInput {
 public:
  // Who looks at the text as soon as it is there. Pieces are numbered from 0 in each read(), and follow each other.
  class Taker {
   public:
    virtual ~Taker() = default;
    // There will be so many at most.
    virtual void expect(std::size_t pieces) = 0;
    // From any thread. A piece may come again, shorter.
    virtual void take(std::size_t piece, std::string_view text) = 0;
  };

  virtual ~TextInput() = default;
  // Appends about so many bytes of text (at most `overshoot` more), or fewer, and returns the number of pieces; 0: the end. A Failure comes in the
  // call behind the last text in front of what is wrong.
  virtual std::size_t read(std::size_t wanted, TextBuffer& text, const ParallelFor& parallel_for, Taker& taker) = 0;
  // Does the file grow? Then read() that returns 0 has come to what is there so far, and what is cut off there is no mistake.
  virtual void set_growing(bool grows) = 0;
  // Could the file end behind what has been read?
  virtual bool could_end() const = 0;
  // Does what the text is packed in say where it ends?
  virtual bool has_end_mark() const { return true; }
  // Where read() goes on, in a file of plain text.
  virtual std::optional<std::uint64_t> place() const { return std::nullopt; }
  // From where in a file the text can be had from some letter on: a byte (of BGZF, of a block), and so many letters behind it. Letters are numbered
  // as they are read, from those of the place at which reading began. Only for those that nobody has forgotten.
  struct Place {
    std::uint64_t offset = 0, letters = 0;
  };
  virtual Place place_of(std::uint64_t letter) const = 0;
  virtual void forget_before(std::uint64_t) {}
  // The first letter of what lies in the file from `offset` on; none: that has not been read.
  virtual std::optional<std::uint64_t> letter_from(std::uint64_t offset) const = 0;
  // Bytes of the file that have been read, as they are there.
  virtual std::uint64_t consumed() const = 0;
};

inline constexpr std::size_t overshoot = std::size_t{1} << 16;
// piece_bytes is what one thread reads at a time: small enough that the text is in its cache when it is looked at.
inline constexpr std::size_t usual_piece_bytes = std::size_t{1} << 17;

// `opened` is `path`, from which nothing has been taken yet (but HTSlib may have looked ahead); `begin`: where to begin, for standard input where it
// stood then. A regular file is read at several places at once, everything else on the calling thread.
std::unique_ptr<TextInput> open_text_input(const std::string& path, FileHandle opened, std::int64_t begin = 0,
                                           std::size_t piece_bytes = usual_piece_bytes);

// From a place on, in a regular file: letters before it are read and forgotten.
std::unique_ptr<TextInput> open_text_input_at(const std::string& path, FileHandle opened, const TextInput::Place& place);

// Only plain text and BGZF can be read from anywhere.
enum class TextPacking : std::uint8_t { plain, bgzf, other };
TextPacking text_packing(hFILE* opened);

}  // namespace sluice::read_bases
