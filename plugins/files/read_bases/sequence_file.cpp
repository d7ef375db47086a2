// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_bases/sequence_file.hpp"

#include <fcntl.h>
#include <libdeflate.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sluice/staged_file.hpp>

namespace sluice::read_bases {
namespace {

constexpr std::size_t stream_bytes = std::size_t{1} << 20;
constexpr std::size_t max_block_bytes = std::size_t{1} << 16;  // BGZF: of compressed and of uncompressed data
// 512 blocks = 32 MiB. Reads come in the order of the alignments, not of the file, and neighbours in the file share blocks (64 KiB hold about four
// reads of 8 kb); a small file is wholly in here after a while.
constexpr std::size_t cached_blocks = 512;
constexpr std::string_view bgzf_end{"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0\x42\x43\x02\0\x1b\0\x03\0\0\0\0\0\0\0\0\0", 28};

std::string system_text() { return std::strerror(errno); }

template <class T>
T load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// May the user of this program write into the folder? A folder whose mode has no write bit at all is left alone even by root, who could.
bool may_write_beside(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const char* name = folder.empty() ? "." : folder.c_str();
  struct stat info {};
  return ::stat(name, &info) == 0 && (info.st_mode & 0222U) != 0 && ::access(name, W_OK) == 0;
}

// Writes a file that appears whole or not at all; "" or why it cannot be kept.
std::string keep_file(const std::string& path, std::string_view bytes) {
  try {
    StagedFile file(path);
    file.write(bytes);
    file.publish();
    return {};
  } catch (const Failure& failure) {
    return failure.what();
  }
}

bool read_whole_file(const std::string& path, std::vector<char>& bytes) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  struct stat info {};
  bool fine = ::fstat(file, &info) == 0;
  bytes.resize(fine ? static_cast<std::size_t>(info.st_size) : 0);
  std::size_t got = 0;
  while (fine && got < bytes.size()) {
    const ssize_t part = ::read(file, bytes.data() + got, bytes.size() - got);
    if (part < 0 && errno == EINTR) continue;
    fine = part > 0;
    if (fine) got += static_cast<std::size_t>(part);
  }
  ::close(file);
  return fine;
}

// Is `index_path` there and not older than the file with `file_info`?
enum class Freshness { missing, older, fresh };
Freshness freshness(const std::string& index_path, const struct stat& file_info) {
  struct stat info {};
  if (::stat(index_path.c_str(), &info) != 0) return Freshness::missing;
  const auto& a = file_info.st_mtim;
  const auto& b = info.st_mtim;
  return a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec) ? Freshness::older : Freshness::fresh;
}

// The size of the BGZF block whose first 18 bytes are at `header`; 0 if they are none.
std::size_t block_bytes(const char* header) {
  if (std::memcmp(header, "\x1f\x8b\x08\x04", 4) != 0 || load<std::uint16_t>(header + 10) < 6) return 0;
  if (header[12] != 'B' || header[13] != 'C' || load<std::uint16_t>(header + 14) != 2) return 0;
  return std::size_t{load<std::uint16_t>(header + 16)} + 1;
}

}  // namespace

// ---- SequenceStream

SequenceStream::SequenceStream(hts::Bgzf input, std::string path)
    : input_(std::move(input), {path}, 0), path_(std::move(path)), buffer_(stream_bytes) {}

void SequenceStream::fail(const std::string& what, std::uint64_t line) const {
  throw Failure::input("'" + path_ + "', line " + std::to_string(line) + ", record " + std::to_string(records_ + 1) + ": " + what,
                       "copy or convert the file again; `seqkit seq` or `samtools fqidx` check it, too");
}

void SequenceStream::fill() {
  std::memmove(buffer_.data(), buffer_.data() + used_, filled_ - used_);
  buffer_begin_ += used_;
  filled_ -= used_;
  used_ = 0;
  // A record longer than half of the buffer doubles it, so that parsing it again after each refill stays linear altogether.
  if (filled_ > buffer_.size() / 2) buffer_.resize(buffer_.size() * 2);
  while (filled_ < buffer_.size() && !at_end_) {
    const std::size_t got = input_.read(buffer_.data() + filled_, buffer_.size() - filled_);
    at_end_ = got == 0;
    filled_ += got;
  }
}

bool SequenceStream::next(SequenceRecord& record) {
  if (filled_ == 0 && !at_end_) fill();
  if (!format_known_) {
    if (filled_ == 0) throw Failure::input("'" + path_ + "' is empty", "give a FASTA or FASTQ file");
    if (!guess_format({buffer_.data(), filled_}, format_))
      throw Failure::input("'" + path_ + "' is neither FASTA nor FASTQ: it starts with neither '>' nor '@'", "give a FASTA or FASTQ file");
    format_known_ = true;
  }
  while (true) {
    std::size_t used = 0;
    ParseProblem problem;
    switch (parse_record({buffer_.data() + used_, filled_ - used_}, at_end_, format_, record, used, problem)) {
      case ParseStatus::record:
        used_ += used;
        lines_ += record.lines;
        ++records_;
        return true;
      case ParseStatus::incomplete:
        fill();
        break;
      case ParseStatus::end:
        return false;
      case ParseStatus::malformed:
        fail(problem.what, lines_ + problem.line + 1);
    }
  }
}

// ---- SequenceFile

SequenceFile::SequenceFile(std::string path, OpenReport& report)
    : path_(std::move(path)),
      file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)),
      decompressor_(libdeflate_alloc_decompressor(), libdeflate_free_decompressor) {
  if (!decompressor_) throw std::bad_alloc();
  hts::silence();
  if (file_.number < 0) throw Failure::input("cannot open '" + path_ + "': " + system_text(), "check the path of the FASTA or FASTQ file");
  struct stat info {};
  if (::fstat(file_.number, &info) != 0 || !S_ISREG(info.st_mode))
    fail("is not a regular file, so reads cannot be looked up in it",
         "write the reads to a file, or leave the option out to use the bases in the alignments");
  file_bytes_ = text_bytes_ = static_cast<std::uint64_t>(info.st_size);
  if (file_bytes_ == 0) fail("is empty", "give a FASTA or FASTQ file");
  char start[18] = {};
  const std::size_t got = read_file(0, start, sizeof start);
  const bool gzip = got >= 2 && start[0] == '\x1f' && start[1] == '\x8b';
  if (gzip && got == sizeof start && block_bytes(start) != 0)
    open_blocks(freshness(path_ + ".gzi", info) == Freshness::older);
  else if (gzip)
    decompress_to_temporary_file(report);
  if (text_bytes_ == 0) fail("is empty", "give a FASTA or FASTQ file");
  load_or_build_index(report);
}

FileDescriptor::~FileDescriptor() {
  if (number >= 0) ::close(number);
}

void SequenceFile::fail(const std::string& what, const std::string& remedy) const { throw Failure::input("'" + path_ + "' " + what, remedy); }

std::size_t SequenceFile::read_file(std::uint64_t offset, char* to, std::size_t bytes) const {
  std::size_t got = 0;
  while (got < bytes) {
    const ssize_t part = ::pread(file_.number, to + got, bytes - got, static_cast<off_t>(offset + got));
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) fail("cannot be read: " + system_text(), "");
    if (part == 0) break;
    got += static_cast<std::size_t>(part);
  }
  return got;
}

void SequenceFile::open_blocks(bool index_is_older) {
  cache_.resize(cached_blocks);
  std::string end(bgzf_end.size(), '\0');
  if (file_bytes_ < end.size() || read_file(file_bytes_ - end.size(), end.data(), end.size()) != end.size() || end != bgzf_end)
    fail("is truncated: it has no BGZF end-of-file block", "copy the file again, or compress it again with `bgzip`");
  blocks_are_given_ = !index_is_older && load_blocks(path_ + ".gzi");
  if (!blocks_are_given_) walk_blocks();
  text_bytes_ = blocks_.back().text_offset;
}

bool SequenceFile::load_blocks(const std::string& gzi_path) {
  std::vector<char> bytes;
  if (!read_whole_file(gzi_path, bytes) || bytes.size() < 8) return false;
  const auto count = load<std::uint64_t>(bytes.data());
  if (count > (bytes.size() - 8) / 16 || bytes.size() != 8 + count * 16) return false;
  blocks_.assign(1, {0, 0});
  for (std::uint64_t i = 0; i < count; ++i) {
    const Block block{load<std::uint64_t>(bytes.data() + 8 + i * 16), load<std::uint64_t>(bytes.data() + 16 + i * 16)};
    if (block.file_offset <= blocks_.back().file_offset || block.file_offset >= file_bytes_ || block.text_offset < blocks_.back().text_offset ||
        block.text_offset - blocks_.back().text_offset > max_block_bytes)
      return false;
    blocks_.push_back(block);
  }
  // The list leaves open where the last block's text ends, and need not name the empty block at the end: walk on from there.
  const Block last = blocks_.back();
  blocks_.pop_back();
  std::uint64_t file_offset = last.file_offset;
  std::uint64_t text_offset = last.text_offset;
  while (file_offset < file_bytes_) {
    char header[18], size[4];
    if (read_file(file_offset, header, sizeof header) != sizeof header) return false;
    const std::size_t bytes_here = block_bytes(header);
    if (bytes_here < 26 || bytes_here > file_bytes_ - file_offset || read_file(file_offset + bytes_here - 4, size, 4) != 4) return false;
    blocks_.push_back({file_offset, text_offset});
    file_offset += bytes_here;
    text_offset += load<std::uint32_t>(size);
  }
  blocks_.push_back({file_offset, text_offset});
  return true;
}

void SequenceFile::walk_blocks() {
  blocks_are_given_ = false;
  blocks_.clear();
  Block at{0, 0};
  std::vector<char> window(stream_bytes);
  std::uint64_t window_begin = 0;
  std::size_t window_bytes = 0;
  const auto bytes_at = [&](std::uint64_t offset, std::size_t count) -> const char* {
    if (offset < window_begin || offset + count > window_begin + window_bytes) {
      window_begin = offset;
      window_bytes = read_file(offset, window.data(), window.size());
      if (window_bytes < count) return nullptr;
    }
    return window.data() + (offset - window_begin);
  };
  while (at.file_offset < file_bytes_) {
    const char* header = bytes_at(at.file_offset, 18);
    const std::size_t bytes = header == nullptr ? 0 : block_bytes(header);
    const char* size = bytes < 26 ? nullptr : bytes_at(at.file_offset + bytes - 4, 4);
    if (size == nullptr || load<std::uint32_t>(size) > max_block_bytes)
      fail("is damaged: no BGZF block at byte " + std::to_string(at.file_offset), "copy the file again and compare checksums");
    blocks_.push_back(at);
    at.file_offset += bytes;
    at.text_offset += load<std::uint32_t>(size);
  }
  blocks_.push_back(at);
}

void SequenceFile::decompress_to_temporary_file(OpenReport& report) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  std::string name = (folder / "sluice-reads-XXXXXX").string();
  FileDescriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (file.number < 0)
    throw Failure::output("cannot make a temporary file in '" + folder.string() + "' to decompress '" + path_ + "' into: " + system_text(),
                          "compress the reads with `bgzip` instead of gzip, or set TMPDIR");
  ::unlink(name.c_str());
  hts::TextFile input({path_});
  for (std::string_view text = input.next(); !text.empty(); text = input.next())
    while (!text.empty()) {
      const ssize_t written = ::write(file.number, text.data(), text.size());
      if (written < 0 && errno != EINTR)
        throw Failure::output("cannot decompress '" + path_ + "' into '" + folder.string() + "': " + system_text(),
                              "compress the reads with `bgzip` instead of gzip, or set TMPDIR to a folder with more room");
      if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    }
  const std::uint64_t total = input.total();
  file_.replace(file);
  file_bytes_ = text_bytes_ = total;
  keep_index_ = false;
  if (total == 0) fail("is empty", "give a FASTA or FASTQ file");
  report.warnings.push_back("'" + path_ + "' is gzip without blocks, which has no random access: decompressed to " + std::to_string(total >> 20) +
                            " MiB in '" + folder.string() + "' for this run; compress it with `bgzip` to save this");
}

void SequenceFile::load_or_build_index(OpenReport& report) {
  const std::string fai_path = path_ + ".fai";
  struct stat info {};
  ::stat(path_.c_str(), &info);
  std::uint64_t duplicates = 0;
  std::string reason;
  switch (freshness(fai_path, info)) {
    case Freshness::missing:
      reason = "there is none";
      break;
    case Freshness::older:
      reason = "the one beside the file is older than the file";
      break;
    case Freshness::fresh: {
      std::vector<char> text;
      if (read_whole_file(fai_path, text)) {
        const IndexStatus status = parse_index({text.data(), text.size()}, text_bytes_, index_, duplicates);
        if (status == IndexStatus::ok) {
          if (duplicates != 0)
            report.warnings.push_back("'" + fai_path + "' names " + std::to_string(duplicates) + " reads again: the first of each name is used");
          return;
        }
        reason = status == IndexStatus::malformed ? "the one beside the file is damaged" : "the one beside the file was made from another file";
      } else {
        reason = "the one beside the file cannot be read";
      }
      break;
    }
  }
  std::string fai;
  index_ = {};
  if (blocks_are_given_) {
    walk_blocks();  // the .gzi may be as wrong as the .fai was
    text_bytes_ = blocks_.back().text_offset;
  }
  build_index(fai, duplicates);
  if (keep_index_ && !may_write_beside(path_)) {
    keep_index_ = false;
    reason += "; it is not kept because the folder cannot be written to";
  }
  if (keep_index_) {
    // The .gzi first: a .fai alone is taken for both.
    std::string problem = blocks_.empty() ? std::string() : keep_file(path_ + ".gzi", gzi_of_blocks());
    if (problem.empty()) problem = keep_file(fai_path, fai);
    keep_index_ = problem.empty();
    if (!problem.empty()) reason += "; it is not kept: " + problem;
  }
  report.infos.push_back((keep_index_ ? "made the index '" : "made in memory the index '") + fai_path + "' of " + std::to_string(index_.size()) +
                         " reads: " + reason);
  if (duplicates != 0)
    report.warnings.push_back("'" + path_ + "' has " + std::to_string(duplicates) + " reads whose name an earlier one has: the first is used");
}

// As bgzip -r writes it: all blocks but the first.
std::string SequenceFile::gzi_of_blocks() const {
  std::string gzi;
  const auto append = [&gzi](std::uint64_t value) { gzi.append(reinterpret_cast<const char*>(&value), sizeof value); };
  append(blocks_.size() - 2);
  for (std::size_t i = 1; i + 1 < blocks_.size(); ++i) append(blocks_[i].file_offset), append(blocks_[i].text_offset);
  return gzi;
}

void SequenceFile::build_index(std::string& fai, std::uint64_t& duplicates) {
  // A copy of the descriptor: the temporary file of a gzip input has no name any more.
  const int copy = ::fcntl(file_.number, F_DUPFD_CLOEXEC, 0);
  if (copy >= 0) ::lseek(copy, 0, SEEK_SET);
  hts::Bgzf input(copy < 0 ? nullptr : bgzf_dopen(copy, "r"));
  if (!input) fail("cannot be read: " + system_text(), "");
  SequenceStream stream(std::move(input), path_);
  SequenceRecord record;
  duplicates = 0;
  while (stream.next(record)) {
    if (!record.even_lines)
      fail("cannot be indexed: the lines of read '" + std::string(record.id) + "' (record " + std::to_string(stream.records()) +
               ") have different lengths",
           "write each read on one line: `seqtk seq FILE`");
    const SequencePlace place{stream.text_offset(record.sequence), record.bases, record.line_bases, record.line_bytes};
    if (index_.add(record.id, place) == SequenceIndex::Added::duplicate) {
      ++duplicates;
      continue;
    }
    fai += record.id;
    for (const std::uint64_t number : {place.bases, place.offset, place.line_bases, place.line_bytes}) fai += '\t' + std::to_string(number);
    if (stream.format() == SequenceFormat::fastq) fai += '\t' + std::to_string(stream.text_offset(record.quality));
    fai += '\n';
  }
}

const std::vector<char>& SequenceFile::block_text(std::size_t block) {
  CachedBlock& cached = cache_[block % cache_.size()];
  if (cached.block == block) return cached.text;
  cached.block = SIZE_MAX;
  const Block& here = blocks_[block];
  const Block& next = blocks_[block + 1];
  const auto bytes = static_cast<std::size_t>(next.file_offset - here.file_offset);
  const auto text_bytes = static_cast<std::size_t>(next.text_offset - here.text_offset);
  const auto damaged = [&] {
    fail("has no whole BGZF block of " + std::to_string(text_bytes) + " bytes of text at byte " + std::to_string(here.file_offset),
         "copy the file again and compare checksums; if it was changed, remove the .fai and .gzi files beside it");
  };
  if (bytes > max_block_bytes) damaged();
  compressed_.resize(max_block_bytes);
  cached.text.resize(text_bytes);
  if (bytes < 26 || read_file(here.file_offset, compressed_.data(), bytes) != bytes || block_bytes(compressed_.data()) != bytes) damaged();
  const std::size_t header = 12 + std::size_t{load<std::uint16_t>(compressed_.data() + 10)};
  std::size_t made = 0;
  if (header + 8 > bytes ||
      libdeflate_deflate_decompress(decompressor_.get(), compressed_.data() + header, bytes - header - 8, cached.text.data(), text_bytes, &made) !=
          LIBDEFLATE_SUCCESS ||
      made != text_bytes || libdeflate_crc32(0, cached.text.data(), text_bytes) != load<std::uint32_t>(compressed_.data() + bytes - 8))
    damaged();
  cached.block = block;
  return cached.text;
}

void SequenceFile::read_text(std::uint64_t offset, char* to, std::size_t bytes) {
  const auto wrong_index = [&] {
    fail("is shorter than its index says", "remove the .fai and .gzi files beside it: they are made anew when missing");
  };
  if (blocks_.empty()) {
    if (read_file(offset, to, bytes) != bytes) wrong_index();
    return;
  }
  auto block =
      std::upper_bound(blocks_.begin(), blocks_.end(), offset, [](std::uint64_t o, const Block& b) { return o < b.text_offset; }) - blocks_.begin();
  if (block == 0) wrong_index();
  --block;
  while (bytes != 0) {
    if (static_cast<std::size_t>(block) + 1 >= blocks_.size()) wrong_index();
    const std::vector<char>& text = block_text(static_cast<std::size_t>(block));
    const auto from = static_cast<std::size_t>(offset - blocks_[static_cast<std::size_t>(block)].text_offset);
    const std::size_t part = std::min(bytes, text.size() - from);
    std::memcpy(to, text.data() + from, part);
    to += part;
    offset += part;
    bytes -= part;
    ++block;
  }
}

void SequenceFile::fetch(std::string_view id, const SequencePlace& place, char* out) {
  try {
    fetch_by_blocks(id, place, out);
  } catch (const Failure&) {
    if (!blocks_are_given_) throw;
    // The .gzi is damaged, or the file is: only the blocks themselves tell.
    walk_blocks();
    cache_.assign(cached_blocks, {});
    fetch_by_blocks(id, place, out);
    if (keep_index_ && may_write_beside(path_)) keep_file(path_ + ".gzi", gzi_of_blocks());
  }
}

// Is the line in front of the place the header of this read, and does the read end with its line? A damaged .fai says otherwise.
bool SequenceFile::belongs_to(std::string_view id, const SequencePlace& place, std::uint64_t bytes) {
  char after = '\n';
  if (place.offset + bytes < text_bytes_) read_text(place.offset + bytes, &after, 1);
  if (after != '\n' && after != '\r') return false;
  // Backwards, to where the header begins; most have less than 200 letters.
  constexpr std::uint64_t longest = std::uint64_t{1} << 20;
  for (std::uint64_t want = 256;; want *= 4) {
    header_.resize(static_cast<std::size_t>(std::min(want, place.offset)));
    read_text(place.offset - header_.size(), header_.data(), header_.size());
    if (header_.empty() || header_.back() != '\n') return false;
    std::string_view line(header_.data(), header_.size() - 1);
    const std::size_t before = line.rfind('\n');
    if (before == std::string_view::npos && header_.size() < place.offset) {
      if (want >= longest) return true;
      continue;
    }
    if (before != std::string_view::npos) line.remove_prefix(before + 1);
    if (line.empty() || (line.front() != '>' && line.front() != '@')) return false;
    line.remove_prefix(1);
    return line.starts_with(id) && (line.size() == id.size() || std::string_view(" \t\r").find(line[id.size()]) != std::string_view::npos);
  }
}

void SequenceFile::fetch_by_blocks(std::string_view id, const SequencePlace& place, char* out) {
  const auto bytes = static_cast<std::size_t>(place.text_bytes().value_or(0));
  if (bytes == place.bases) {
    read_text(place.offset, out, bytes);
  } else {
    lines_.resize(bytes);
    read_text(place.offset, lines_.data(), bytes);
    const std::uint64_t line_end = place.line_bytes - place.line_bases;
    std::uint64_t from = 0;
    for (std::uint64_t done = 0; done < place.bases;) {
      const std::uint64_t part = std::min(place.line_bases, place.bases - done);
      std::memcpy(out + done, lines_.data() + from, static_cast<std::size_t>(part));
      done += part;
      from += part + line_end;
    }
  }
  if (!normalise_bases({out, static_cast<std::size_t>(place.bases)}) || !belongs_to(id, place, bytes))
    fail("has something else than read '" + std::string(id) + "' where its index says it is",
         "remove the .fai and .gzi files beside it: they are made anew when missing");
}

}  // namespace sluice::read_bases
