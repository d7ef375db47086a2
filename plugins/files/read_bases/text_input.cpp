// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_bases/text_input.hpp"

#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <libdeflate.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <optional>
#include <sluice/allocated.hpp>
#include <sluice/call.hpp>
#include <sluice/hts/input_end.hpp>
#include <utility>
#include <vector>

#include "read_bases/letters.hpp"
#include "read_bases/zstd_text.hpp"

namespace sluice::read_bases {
namespace {

// What waits for one thread (a pipe, gzip) comes in such steps: others wait for it, so it is no longer than need be.
constexpr std::size_t serial_bytes = std::size_t{1} << 20;
constexpr std::size_t largest_block_bytes = std::size_t{1} << 16;  // BGZF, both of compressed and of uncompressed data
constexpr std::size_t block_header_bytes = 18, block_footer_bytes = 8;

template <class T>
T load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

enum class Header : std::uint8_t { bgzf, gzip, other };
// What begins with these 18 bytes? As HTSlib has it: a BGZF block has the one extra field.
Header header_of(const char* at) {
  if (std::memcmp(at, "\x1f\x8b\x08", 3) != 0) return Header::other;
  const bool blocks = (at[3] & 4) != 0 && load<std::uint16_t>(at + 10) == 6 && std::memcmp(at + 12, "BC\2\0", 4) == 0;
  return blocks ? Header::bgzf : Header::gzip;
}

[[noreturn]] void cannot_read(const std::string& path, int error) {
  throw Failure::input("'" + path + "' cannot be read: " + std::strerror(error), "check the disk or the connection that it is on");
}

// The bytes of a file as they are: at any place and from any thread if it is a regular one, else one after the other.
class RawBytes {
 public:
  RawBytes(std::string path, FileHandle opened, std::int64_t begin) : path_(std::move(path)), stream_(std::move(opened)) {
    const bool standard_input = path_ == "-";
    struct stat info {};
    if ((standard_input ? ::fstat(STDIN_FILENO, &info) : ::stat(path_.c_str(), &info)) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0 ||
        begin < 0)
      return;
    file_ = standard_input ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) return;
    position_ = static_cast<std::uint64_t>(begin);
    ::posix_fadvise(file_, begin, 0, POSIX_FADV_SEQUENTIAL);
    stream_.reset();
  }
  RawBytes(const RawBytes&) = delete;
  ~RawBytes() {
    if (file_ >= 0) ::close(file_);
  }
  const std::string& path() const { return path_; }
  bool is_regular() const { return file_ >= 0; }
  // Where the next byte lies, of all that have been taken by read() or skip().
  std::uint64_t position() const { return position_; }
  std::uint64_t left() const {
    struct stat info {};
    const auto size = ::fstat(file_, &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
    return size > position_ ? size - position_ : 0;
  }

  // The next bytes; fewer than asked for: that is the end. On the source's thread, because it may wait.
  std::size_t read(char* to, std::size_t bytes) {
    std::size_t got = 0;
    while (got < bytes) {
      const ssize_t part =
          is_regular() ? ::pread(file_, to + got, bytes - got, static_cast<off_t>(position_ + got)) : hread(stream_.get(), to + got, bytes - got);
      if (part < 0 && errno == EINTR) continue;
      if (part < 0) cannot_read(path_, errno);
      if (part == 0) break;
      got += static_cast<std::size_t>(part);
    }
    position_ += got;
    return got;
  }
  void skip(std::size_t bytes) { position_ += bytes; }

  // Regular files, from any thread: what of these bytes is in memory already, without waiting for a disk.
  std::size_t read_cached(std::uint64_t offset, char* to, std::size_t bytes) const {
    std::size_t got = 0;
    while (got < bytes) {
      const iovec part{to + got, bytes - got};
      const ssize_t done = ::preadv2(file_, &part, 1, static_cast<off_t>(offset + got), RWF_NOWAIT);
      if (done <= 0) break;
      got += static_cast<std::size_t>(done);
    }
    return got;
  }

 private:
  std::string path_;
  FileHandle stream_;  // null for a regular file
  int file_ = -1;
  std::uint64_t position_ = 0;
};

// Bytes of a regular file that several threads fetch: i from 0 to pieces() - 1, then finish() on the source's thread for what was not in memory.
class Fetch {
 public:
  Fetch(RawBytes& raw, char* to, std::size_t bytes, std::size_t piece_bytes)
      : raw_(raw), to_(to), bytes_(bytes), piece_bytes_(piece_bytes), got_((bytes + piece_bytes - 1) / piece_bytes) {}

  std::size_t pieces() const { return got_.size(); }
  std::size_t size_of(std::size_t piece) const { return std::min(piece_bytes_, bytes_ - piece * piece_bytes_); }
  char* place_of(std::size_t piece) const { return to_ + piece * piece_bytes_; }
  // Is all of it there?
  bool fetch(std::size_t piece) {
    got_[piece] = raw_.read_cached(raw_.position() + piece * piece_bytes_, place_of(piece), size_of(piece));
    return is_whole(piece);
  }
  bool is_whole(std::size_t piece) const { return got_[piece] == size_of(piece); }
  // Returns how many bytes there are: fewer than planned if the file has become shorter meanwhile.
  std::size_t finish() {
    for (std::size_t piece = 0; piece < pieces(); ++piece) {
      raw_.skip(got_[piece]);
      const std::size_t missing = size_of(piece) - got_[piece];
      if (missing == 0) continue;
      const std::size_t more = raw_.read(place_of(piece) + got_[piece], missing);
      got_[piece] += more;
      if (more < missing) return piece * piece_bytes_ + got_[piece];
    }
    return bytes_;
  }

 private:
  RawBytes& raw_;
  char* to_;
  std::size_t bytes_, piece_bytes_;
  std::vector<std::size_t> got_;
};

class PlainFile : public TextInput {
 public:
  PlainFile(std::unique_ptr<RawBytes> raw, std::size_t piece_bytes) : raw_(std::move(raw)), begin_(raw_->position()), piece_bytes_(piece_bytes) {}
  Place place_of(std::uint64_t letter) const override { return {begin_ + letter, 0}; }
  std::optional<std::uint64_t> letter_from(std::uint64_t offset) const override { return offset > begin_ ? offset - begin_ : 0; }
  std::uint64_t consumed() const override { return raw_->position(); }
  void set_growing(bool) override {}
  bool could_end() const override { return true; }
  bool has_end_mark() const override { return false; }
  std::optional<std::uint64_t> place() const override { return raw_->is_regular() ? std::optional(raw_->position()) : std::nullopt; }

  std::size_t read(std::size_t wanted, TextBuffer& text, const ParallelFor& parallel_for, Taker& taker) override {
    if (!raw_->is_regular()) {
      const std::size_t before = text.size(), bytes = std::min(wanted, serial_bytes);
      char* const to = text.append(bytes);
      const std::size_t got = raw_->read(to, bytes);
      text.cut(before + got);
      if (got > 0) taker.expect(1), taker.take(0, {to, got});
      return got > 0 ? 1 : 0;
    }
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(wanted, raw_->left()));
    if (bytes == 0) return 0;
    const std::size_t before = text.size();
    Fetch fetch(*raw_, text.append(bytes), bytes, piece_bytes_);
    std::vector<char> taken(fetch.pieces());
    taker.expect(fetch.pieces());
    const auto take_piece = [&](std::size_t piece) { taker.take(piece, {fetch.place_of(piece), fetch.size_of(piece)}); };
    parallel_for(fetch.pieces(), [&](std::size_t piece) {
      if (!fetch.fetch(piece)) return;
      take_piece(piece);
      taken[piece] = 1;
    });
    const std::size_t there = fetch.finish();
    text.cut(before + there);
    std::size_t pieces = 0;
    for (; pieces * piece_bytes_ < there; ++pieces) {
      const std::size_t size = std::min(fetch.size_of(pieces), there - pieces * piece_bytes_);
      if (taken[pieces] == 0 || size != fetch.size_of(pieces)) taker.take(pieces, {fetch.place_of(pieces), size});
    }
    return pieces;
  }

 private:
  std::unique_ptr<RawBytes> raw_;
  std::uint64_t begin_;
  std::size_t piece_bytes_;
};

struct Inflater {
  std::unique_ptr<libdeflate_decompressor, void (*)(libdeflate_decompressor*)> decompressor{allocated(libdeflate_alloc_decompressor()),
                                                                                            libdeflate_free_decompressor};
};

// BGZF and gzip. A file of BGZF blocks may go on as plain gzip, as it may for HTSlib (`cat a.bgz b.gz`); the rest is then gzip.
class CompressedFile : public TextInput {
 public:
  CompressedFile(std::unique_ptr<RawBytes> raw, std::size_t piece_bytes)
      : raw_(std::move(raw)), begin_(raw_->position()), piece_bytes_(std::max(piece_bytes, largest_block_bytes)) {}
  std::uint64_t consumed() const override { return raw_->position(); }
  void set_growing(bool grows) override { grows_ = grows; }
  bool could_end() const override { return unread() == 0 && !in_member_; }
  Place place_of(std::uint64_t letter) const override {
    const auto behind = std::upper_bound(origins_.begin(), origins_.end(), letter, [](std::uint64_t at, const Origin& o) { return at < o.letter; });
    if (behind == origins_.begin()) return {begin_, letter};
    const Origin& origin = *std::prev(behind);
    return {origin.offset, letter - origin.letter};
  }
  void forget_before(std::uint64_t letter) override {
    while (origins_.size() > 1 && origins_[1].letter <= letter) origins_.pop_front();
  }
  std::optional<std::uint64_t> letter_from(std::uint64_t offset) const override {
    const auto first = std::lower_bound(origins_.begin(), origins_.end(), offset, [](const Origin& o, std::uint64_t at) { return o.offset < at; });
    return first == origins_.end() ? std::nullopt : std::optional(first->letter);
  }

  std::size_t read(std::size_t wanted, TextBuffer& text, const ParallelFor& parallel_for, Taker& taker) override {
    const std::size_t before = text.size();
    std::size_t pieces = 0;
    if (!broken_ && !ended_) pieces = gzip_ ? read_gzip(wanted, text, taker) : read_blocks(wanted, text, parallel_for, taker);
    text_ += text.size() - before;
    if (pieces == 0 && broken_)
      throw Failure::input(
          "'" + raw_->path() + "' is truncated or damaged: its compressed data ends or breaks after " + std::to_string(text_) + " bytes of text",
          "copy the file again and compare checksums");
    if (pieces == 0 && blocks_lack_end_) throw hts::lacks_end_failure("'" + raw_->path() + "'");
    return pieces;
  }

 private:
  // Of a block, or of all gzip that follows.
  struct Origin {
    std::uint64_t letter, offset;
  };
  struct Block {
    std::size_t begin, bytes;      // in compressed_
    std::size_t text, text_bytes;  // in the new text
  };

  std::size_t unread() const { return compressed_.size() - used_; }
  // More compressed bytes behind those that are left; false: there are none.
  bool read_more() {
    if (raw_ended_) return false;
    next_.reset(unread() + serial_bytes);
    next_.append({compressed_.data() + used_, unread()});
    const std::size_t got = raw_->read(next_.append(serial_bytes), serial_bytes);
    next_.cut(next_.size() - (serial_bytes - got));
    raw_ended_ = got < serial_bytes && !grows_;
    std::swap(compressed_, next_);
    used_ = 0;
    return got > 0;
  }

  // The blocks that are whole in memory, up to `wanted` bytes of text.
  std::vector<Block> next_blocks(std::size_t wanted) {
    std::vector<Block> blocks;
    std::size_t text_bytes = 0;
    while (text_bytes < wanted) {
      const char* const at = compressed_.data() + used_;
      if (unread() < block_header_bytes) {
        if (read_more_for(blocks)) continue;
        if (blocks.empty() && !grows_) ended_ = unread() == 0, broken_ = !ended_, blocks_lack_end_ = ended_ && !last_was_empty_;
        break;
      }
      const Header header = header_of(at);
      if (header != Header::bgzf) {
        if (blocks.empty()) gzip_ = header == Header::gzip, broken_ = !gzip_;
        if (gzip_) origins_.push_back({text_, raw_->position() - unread()});
        break;
      }
      const std::size_t bytes = std::size_t{load<std::uint16_t>(at + 16)} + 1;
      const bool possible = bytes >= block_header_bytes + block_footer_bytes;
      if (possible && unread() < bytes && read_more_for(blocks)) continue;
      const bool whole = possible && unread() >= bytes;
      const std::size_t size = whole ? load<std::uint32_t>(at + bytes - 4) : 0;
      if (!whole || size > largest_block_bytes) {
        if (blocks.empty()) broken_ = !grows_ || !possible || (whole && size > largest_block_bytes);
        break;
      }
      last_was_empty_ = size == 0;
      blocks.push_back({used_, bytes, text_bytes, size});
      origins_.push_back({text_ + text_bytes, raw_->position() - unread()});
      text_bytes += size;
      used_ += bytes;
    }
    return blocks;
  }
  // Offsets of blocks must stay: only where there is none yet.
  bool read_more_for(const std::vector<Block>& blocks) { return blocks.empty() && read_more(); }

  std::size_t read_blocks(std::size_t wanted, TextBuffer& text, const ParallelFor& parallel_for, Taker& taker) {
    while (true) {
      const std::vector<Block> blocks = next_blocks(wanted);
      if (blocks.empty()) return gzip_ ? read_gzip(wanted, text, taker) : 0;
      const std::size_t text_bytes = blocks.back().text + blocks.back().text_bytes;
      const std::size_t before = text.size();
      char* const to = text.append(text_bytes);
      // Pieces of whole blocks.
      std::vector<std::size_t> begins;
      for (std::size_t i = 0, begin = 0; i < blocks.size(); ++i)
        if (i == 0 || blocks[i].text + blocks[i].text_bytes > begin + piece_bytes_) begins.push_back(i), begin = blocks[i].text;
      begins.push_back(blocks.size());
      const std::size_t pieces = begins.size() - 1;
      // While these are inflated, the compressed bytes of the next call are read: a little more than this one takes.
      const std::size_t rest = unread(), likely = (used_ - blocks.front().begin) * 9 / 8 + largest_block_bytes;
      std::optional<Fetch> ahead;
      if (raw_->is_regular() && !raw_ended_) {
        const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(likely - std::min(rest, likely), raw_->left()));
        next_.reset(rest + bytes);
        next_.append({compressed_.data() + used_, rest});
        ahead.emplace(*raw_, next_.append(bytes), bytes, piece_bytes_);
      }
      std::vector<char> bad(blocks.size());
      taker.expect(pieces);
      const std::size_t fetches = ahead ? ahead->pieces() : 0;
      parallel_for(fetches + pieces, [&](std::size_t i) {
        if (i < fetches) return static_cast<void>(ahead->fetch(i));
        const std::size_t piece = i - fetches;
        const auto inflater = inflaters_.take();
        for (std::size_t block = begins[piece]; block < begins[piece + 1]; ++block)
          if (!inflate(*inflater, blocks[block], to)) {
            bad[block] = 1;
            return;
          }
        const Block &first = blocks[begins[piece]], &last = blocks[begins[piece + 1] - 1];
        taker.take(piece, {to + first.text, last.text + last.text_bytes - first.text});
      });
      if (ahead) {
        const std::size_t planned = next_.size() - rest, there = ahead->finish();
        next_.cut(rest + there);
        raw_ended_ = !grows_ && (there < planned || raw_->left() == 0);
        std::swap(compressed_, next_);
        used_ = 0;
      }
      if (const auto first_bad = std::find(bad.begin(), bad.end(), 1); first_bad != bad.end()) {
        broken_ = true;
        const auto block = static_cast<std::size_t>(first_bad - bad.begin());
        const auto piece = static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end(), block) - begins.begin()) - 1;
        const Block& first = blocks[begins[piece]];
        text.cut(before + blocks[block].text);
        const std::size_t good = blocks[block].text - first.text;
        if (good > 0) taker.take(piece, {to + first.text, good});
        return piece + (good > 0 ? 1 : 0);
      }
      if (text_bytes > 0) return pieces;
    }
  }
  bool inflate(const Inflater& inflater, const Block& block, char* to) const {
    const char* const data = compressed_.data() + block.begin;
    std::size_t made = 0;
    return libdeflate_deflate_decompress(inflater.decompressor.get(), data + block_header_bytes,
                                         block.bytes - block_header_bytes - block_footer_bytes, to + block.text, block.text_bytes,
                                         &made) == LIBDEFLATE_SUCCESS &&
           made == block.text_bytes && libdeflate_crc32(0, to + block.text, made) == load<std::uint32_t>(data + block.bytes - block_footer_bytes);
  }

  // Members one after the other, each with a checksum, which igzip compares.
  std::size_t read_gzip(std::size_t wanted, TextBuffer& text, Taker& taker) {
    const std::size_t before = text.size(), bytes = std::min(wanted, serial_bytes);
    char* const to = text.append(bytes);
    std::size_t made = 0;
    while (made < bytes && !broken_) {
      if (unread() == 0 && !read_more()) {
        // The end is right behind a member.
        if (in_member_ && !drain(to, bytes, made)) {
          if (grows_) break;
          broken_ = true;
        }
        if (!in_member_) {
          ended_ = !grows_;
          break;
        }
        continue;
      }
      if (!in_member_) begin_member();
      step(to, bytes, made);
    }
    text.cut(before + made);
    if (made > 0) taker.expect(1), taker.take(0, {to, made});
    return made > 0 ? 1 : 0;
  }
  void begin_member() {
    isal_inflate_init(&*gzip_state_);
    gzip_state_->crc_flag = ISAL_GZIP;
    in_member_ = true;
  }
  void step(char* to, std::size_t bytes, std::size_t& made) {
    inflate_state& state = *gzip_state_;
    state.next_in = reinterpret_cast<std::uint8_t*>(compressed_.data() + used_);
    const auto offered = static_cast<std::uint32_t>(std::min<std::size_t>(unread(), 1U << 30));
    state.avail_in = offered;
    state.next_out = reinterpret_cast<std::uint8_t*>(to + made);
    const auto room = static_cast<std::uint32_t>(bytes - made);
    state.avail_out = room;
    const int result = isal_inflate(&state);
    used_ += offered - state.avail_in;
    made += room - state.avail_out;
    const bool moved = state.avail_in < offered || state.avail_out < room;
    if (result < 0 || result == ISAL_NEED_DICT || (!moved && offered > 0))
      broken_ = true;
    else if (state.block_state == ISAL_BLOCK_FINISH)
      in_member_ = false;
  }
  // There are no more compressed bytes, but igzip may hold text. False if nothing came of it.
  bool drain(char* to, std::size_t bytes, std::size_t& made) {
    const std::size_t before = made;
    step(to, bytes, made);
    return !in_member_ || made > before;
  }

  std::unique_ptr<RawBytes> raw_;
  std::uint64_t begin_;
  std::deque<Origin> origins_;
  std::size_t piece_bytes_;
  TextBuffer compressed_, next_;
  std::size_t used_ = 0;  // of compressed_
  bool grows_ = false, raw_ended_ = false, ended_ = false, broken_ = false;
  bool last_was_empty_ = false, blocks_lack_end_ = false;  // BGZF's mark of the end
  bool gzip_ = false, in_member_ = false;
  std::uint64_t text_ = 0;
  std::unique_ptr<inflate_state> gzip_state_ = std::make_unique<inflate_state>();
  Workspaces<Inflater> inflaters_;
};

}  // namespace

std::unique_ptr<TextInput> open_text_input(const std::string& path, FileHandle opened, std::int64_t begin, std::size_t piece_bytes) {
  char start[block_header_bytes] = {};
  const ssize_t got = hpeek(opened.get(), start, sizeof start);
  if (got < 0) cannot_read(path, errno);
  const bool compressed = got >= 2 && std::memcmp(start, "\x1f\x8b", 2) == 0;
  // HTSlib takes less of gzip than a block's header for text.
  if (compressed && got < static_cast<ssize_t>(sizeof start))
    throw Failure::input("'" + path + "' is truncated or damaged: its compressed data ends or breaks after 0 bytes of text",
                         "copy the file again and compare checksums");
  if (begins_as_zstd({start, static_cast<std::size_t>(got)})) return open_zstd_input(path, std::move(opened));
  auto raw = std::make_unique<RawBytes>(path, std::move(opened), begin);
  piece_bytes = std::clamp<std::size_t>(piece_bytes, 1, largest_piece);
  if (compressed) return std::make_unique<CompressedFile>(std::move(raw), piece_bytes);
  return std::make_unique<PlainFile>(std::move(raw), piece_bytes);
}

TextPacking text_packing(hFILE* opened) {
  char start[block_header_bytes] = {};
  if (hpeek(opened, start, sizeof start) < static_cast<ssize_t>(sizeof start)) return TextPacking::plain;
  if (begins_as_zstd({start, sizeof start})) return TextPacking::other;
  if (std::memcmp(start, "\x1f\x8b", 2) != 0) return TextPacking::plain;
  return header_of(start) == Header::bgzf ? TextPacking::bgzf : TextPacking::other;
}

}  // namespace sluice::read_bases
