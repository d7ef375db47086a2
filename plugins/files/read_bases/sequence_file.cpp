// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_bases/sequence_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <sluice/staged_file.hpp>

#include "read_bases/zstd_text.hpp"

namespace sluice::read_bases {
namespace {

using hts::BgzfBlock;

constexpr std::size_t stream_bytes = std::size_t{1} << 20;
// 512 blocks = 32 MiB. Reads come in the order of the alignments, not of the file, and neighbours in the file share blocks (64 KiB hold about four
// reads of 8 kb); a small file is wholly in here after a while.
constexpr std::size_t cached_blocks = 512;
// Of 8 kb each: 0.3 ms, where each takes a block and a quarter.
constexpr std::size_t reads_at_once = 4;
// Most lines in front of a read have less than 200 letters.
constexpr std::uint64_t usual_header_bytes = 256, longest_header_bytes = std::uint64_t{1} << 20;
// With moves in its comment: the longest reads, of 4 Mb, have 16 MB of them.
constexpr std::uint64_t longest_comment_bytes = std::uint64_t{1} << 26;
// A workspace that a long read has grown is not kept.
constexpr std::size_t kept_workspace_bytes = std::size_t{4} << 20;

std::string system_text() { return std::strerror(errno); }

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
    if (filled_ == 0) return false;
    if (!guess_format({buffer_.data(), filled_}, format_)) throw unknown_format(path_, {buffer_.data(), filled_});
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

// ---- BlockCache

BlockCache::BlockCache(std::vector<Block> blocks, From from) : blocks_(std::move(blocks)), from_(from), slots_(cached_blocks) {}

BlockCache::Text BlockCache::find(std::size_t block) {
  Slot& slot = slots_[block % slots_.size()];
  const std::lock_guard lock(slot.mutex);
  return slot.block == block ? slot.text : nullptr;
}

void BlockCache::put(std::size_t block, const Text& text) {
  Text old = text;
  Slot& slot = slots_[block % slots_.size()];
  const std::lock_guard lock(slot.mutex);
  slot.block = block;
  std::swap(slot.text, old);
}

// ---- SequenceFile

SequenceFile::SequenceFile(std::string path, OpenReport& report) : path_(std::move(path)), file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
  hts::silence();
  if (file_.number < 0) throw Failure::input("cannot open '" + path_ + "': " + system_text(), "check the path of the FASTA or FASTQ file");
  struct stat info {};
  if (::fstat(file_.number, &info) != 0 || !S_ISREG(info.st_mode))
    fail("is not a regular file, so reads cannot be looked up in it",
         "write the reads to a file, or leave the option out to use the bases in the alignments");
  file_bytes_ = text_bytes_ = static_cast<std::uint64_t>(info.st_size);
  char start[18] = {};
  const std::size_t got = read_file(0, start, sizeof start);
  const bool gzip = got >= 2 && start[0] == '\x1f' && start[1] == '\x8b';
  if (gzip && got == sizeof start && BgzfBlock::bytes(start) != 0)
    open_blocks(freshness(path_ + ".gzi", info) == Freshness::older);
  else if (gzip)
    decompress_to_temporary_file(
        report, "gzip without blocks",
        [input = std::make_shared<hts::TextFile>(hts::FileLabel{path_})](char* to, std::size_t bytes) { return input->read(to, bytes); });
  else if (begins_as_zstd({start, got}))
    decompress_to_temporary_file(report, "zstd",
                                 [input = std::make_shared<ZstdText>(path_, FileHandle(hopen(path_.c_str(), "r")))](char* to, std::size_t bytes) {
                                   return input->read(to, bytes);
                                 });
  if (hts::is_fasta_with_open_end(path_)) report.warnings.push_back(hts::open_end_text("'" + path_ + "'"));
  if (text_bytes_ > 0)
    load_or_build_index(report);
  else
    report.warnings.push_back(hts::empty_text("'" + path_ + "'"));
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
  std::string end(BgzfBlock::end.size(), '\0');
  if (file_bytes_ < end.size() || read_file(file_bytes_ - end.size(), end.data(), end.size()) != end.size() || end != BgzfBlock::end)
    throw hts::lacks_end_failure("'" + path_ + "'");
  std::vector<Block> blocks;
  const bool given = !index_is_older && load_blocks(path_ + ".gzi", blocks);
  if (!given) blocks = walk_blocks();
  text_bytes_ = blocks.back().text_offset;
  cache_ = std::make_shared<BlockCache>(std::move(blocks), given ? BlockCache::From::index : BlockCache::From::file);
}

bool SequenceFile::load_blocks(const std::string& gzi_path, std::vector<Block>& blocks) const {
  std::vector<char> bytes;
  if (!read_whole_file(gzi_path, bytes) || bytes.size() < 8) return false;
  const auto count = BgzfBlock::load<std::uint64_t>(bytes.data());
  if (count > (bytes.size() - 8) / 16 || bytes.size() != 8 + count * 16) return false;
  blocks.assign(1, {0, 0});
  for (std::uint64_t i = 0; i < count; ++i) {
    const char* const at = bytes.data() + 8 + i * 16;
    const Block block{BgzfBlock::load<std::uint64_t>(at), BgzfBlock::load<std::uint64_t>(at + 8)};
    if (block.file_offset <= blocks.back().file_offset || block.file_offset >= file_bytes_ || block.text_offset < blocks.back().text_offset ||
        block.text_offset - blocks.back().text_offset > BgzfBlock::most_bytes)
      return false;
    blocks.push_back(block);
  }
  // The list leaves open where the last block's text ends, and need not name the empty block at the end: walk on from there.
  const Block last = blocks.back();
  blocks.pop_back();
  std::uint64_t file_offset = last.file_offset;
  std::uint64_t text_offset = last.text_offset;
  while (file_offset < file_bytes_) {
    char header[BgzfBlock::header_bytes], size[4];
    if (read_file(file_offset, header, sizeof header) != sizeof header) return false;
    const std::size_t bytes_here = BgzfBlock::bytes(header);
    if (bytes_here == 0 || bytes_here > file_bytes_ - file_offset || read_file(file_offset + bytes_here - 4, size, 4) != 4) return false;
    blocks.push_back({file_offset, text_offset});
    file_offset += bytes_here;
    text_offset += BgzfBlock::load<std::uint32_t>(size);
  }
  blocks.push_back({file_offset, text_offset});
  return true;
}

std::vector<SequenceFile::Block> SequenceFile::walk_blocks() const {
  std::vector<Block> blocks;
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
    const char* header = bytes_at(at.file_offset, BgzfBlock::header_bytes);
    const std::size_t bytes = header == nullptr ? 0 : BgzfBlock::bytes(header);
    const char* size = bytes == 0 ? nullptr : bytes_at(at.file_offset + bytes - 4, 4);
    if (size == nullptr || BgzfBlock::load<std::uint32_t>(size) > BgzfBlock::most_bytes)
      fail("is damaged: no BGZF block at byte " + std::to_string(at.file_offset), "copy the file again and compare checksums");
    blocks.push_back(at);
    at.file_offset += bytes;
    at.text_offset += BgzfBlock::load<std::uint32_t>(size);
  }
  blocks.push_back(at);
  return blocks;
}

std::shared_ptr<BlockCache> SequenceFile::cache() const {
  const std::lock_guard lock(mutex_);
  return cache_;
}

void SequenceFile::decompress_to_temporary_file(OpenReport& report, const char* format, const ReadText& read_text) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  std::string name = (folder / "sluice-reads-XXXXXX").string();
  FileDescriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (file.number < 0)
    throw Failure::output("cannot make a temporary file in '" + folder.string() + "' to decompress '" + path_ + "' into: " + system_text(),
                          "compress the reads with `bgzip` instead of gzip, or set TMPDIR");
  ::unlink(name.c_str());
  std::vector<char> block(stream_bytes);
  std::uint64_t total = 0;
  while (const std::size_t got = read_text(block.data(), block.size())) {
    total += got;
    for (std::string_view text(block.data(), got); !text.empty();) {
      const ssize_t written = ::write(file.number, text.data(), text.size());
      if (written < 0 && errno != EINTR)
        throw Failure::output("cannot decompress '" + path_ + "' into '" + folder.string() + "': " + system_text(),
                              "compress the reads with `bgzip` instead of gzip, or set TMPDIR to a folder with more room");
      if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  file_.replace(file);
  file_bytes_ = text_bytes_ = total;
  keep_index_ = false;
  if (total == 0) return;
  report.warnings.push_back("'" + path_ + "' is " + format + ", which has no random access: decompressed to " + std::to_string(total >> 20) +
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
          if (duplicates != 0) say_repeated({text.data(), text.size()}, report);
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
  if (cache_ && cache_->from() == BlockCache::From::index) {  // the .gzi may be as wrong as the .fai was
    cache_ = std::make_shared<BlockCache>(walk_blocks(), BlockCache::From::file);
    text_bytes_ = cache_->blocks().back().text_offset;
  }
  build_index(fai, duplicates);
  if (keep_index_ && !may_write_beside(path_)) {
    keep_index_ = false;
    reason += "; it is not kept because the folder cannot be written to";
  }
  if (keep_index_) {
    // The .gzi first: a .fai alone is taken for both.
    std::string problem = !cache_ ? std::string() : keep_file(path_ + ".gzi", gzi_of_blocks());
    if (problem.empty()) problem = keep_file(fai_path, fai);
    keep_index_ = problem.empty();
    if (!problem.empty()) reason += "; it is not kept: " + problem;
  }
  report.infos.push_back((keep_index_ ? "made the index '" : "made in memory the index '") + fai_path + "' of " + std::to_string(index_.size()) +
                         " reads: " + reason);
  if (duplicates != 0) say_repeated(fai, report);
}

void SequenceFile::say_repeated(std::string_view fai, OpenReport& report) const {
  const std::uint64_t before = report.repeated.count();
  find_repeated(fai, index_, report.repeated);
  report.warnings.push_back("'" + path_ + "' has " + std::to_string(report.repeated.count() - before) +
                            " reads whose name an earlier one has, which is used: " + report.repeated.names());
}

// As bgzip -r writes it: all blocks but the first.
std::string SequenceFile::gzi_of_blocks() const {
  std::string gzi;
  const auto append = [&gzi](std::uint64_t value) { gzi.append(reinterpret_cast<const char*>(&value), sizeof value); };
  const std::vector<Block>& blocks = cache_->blocks();
  append(blocks.size() - 2);
  for (std::size_t i = 1; i + 1 < blocks.size(); ++i) append(blocks[i].file_offset), append(blocks[i].text_offset);
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
    // The .fai names them again, so that whoever loads it knows of them, too.
    if (index_.add(record.id, place) == SequenceIndex::Added::duplicate) ++duplicates;
    fai += record.id;
    for (const std::uint64_t number : {place.bases, place.offset, place.line_bases, place.line_bytes}) fai += '\t' + std::to_string(number);
    if (stream.format() == SequenceFormat::fastq) fai += '\t' + std::to_string(stream.text_offset(record.quality));
    fai += '\n';
  }
}

// ---- looking up

// One thread's reads.
class SequenceFile::Reader {
 public:
  Reader(SequenceFile& file, Lookup& lookup) : file_(&file), lookup_(&lookup), cache_(file.cache()), scratch_(file.workspaces_.take()) {}

  void fetch(const Wanted& wanted) {
    try {
      fetch_once(wanted);
    } catch (const Failure&) {
      // The .gzi is damaged, or the file is: only the blocks themselves tell.
      if (!file_->count_blocks_anew(cache_)) throw;
      cache_ = file_->cache();
      fetch_once(wanted);
    }
  }
  ~Reader() {
    if (scratch_->text.capacity() > kept_workspace_bytes) scratch_.discard();
  }
  Reader(const Reader&) = delete;

 private:
  // The header's line, the read, and what comes behind it, in one piece.
  void fetch_once(const Wanted& wanted) {
    const SequencePlace& place = *wanted.place;
    const auto bytes = static_cast<std::size_t>(place.text_bytes().value_or(0));
    const auto before = static_cast<std::size_t>(std::min(usual_header_bytes, place.offset));
    const std::size_t behind = place.offset + bytes < file_->text_bytes_ ? 1 : 0;
    std::vector<char>& text = scratch_->text;
    text.resize(before + bytes + behind);
    read_text(place.offset - before, text.data(), text.size());
    bool good = true;
    const std::uint64_t line_bases = bytes == place.bases ? place.bases : place.line_bases;
    for (std::uint64_t done = 0, from = before; done < place.bases; from += place.line_bytes) {
      const auto part = static_cast<std::size_t>(std::min(line_bases, place.bases - done));
      good = normalise_bases({text.data() + from, part}, wanted.bases + done) && good;
      done += part;
    }
    const char last = behind == 1 ? text.back() : '\n';
    if (!good || (last != '\n' && last != '\r') || !has_header(wanted, {text.data(), before}))
      file_->fail("has something else than read '" + std::string(wanted.id) + "' where its index says it is",
                  "remove the .fai and .gzi files beside it: they are made anew when missing");
  }

  // Is the line in front of the place the header of this read? A damaged .fai says otherwise. `text`: what is in front of it. Gives the comment.
  bool has_header(const Wanted& wanted, std::string_view text) {
    const std::uint64_t longest = wanted.comment == nullptr ? longest_header_bytes : longest_comment_bytes;
    std::vector<char> more;
    while (true) {
      if (text.empty() || text.back() != '\n') return false;
      std::string_view line = text.substr(0, text.size() - 1);
      const std::size_t newline = line.rfind('\n');
      if (newline == std::string_view::npos && text.size() < wanted.place->offset) {
        if (text.size() >= longest) return wanted.comment == nullptr;
        more.resize(static_cast<std::size_t>(std::min<std::uint64_t>(text.size() * 4, wanted.place->offset)));
        read_text(wanted.place->offset - more.size(), more.data(), more.size());
        text = {more.data(), more.size()};
        continue;
      }
      if (newline != std::string_view::npos) line.remove_prefix(newline + 1);
      if (line.empty() || (line.front() != '>' && line.front() != '@')) return false;
      line.remove_prefix(1);
      const std::size_t size = wanted.id.size();
      if (!line.starts_with(wanted.id) || (line.size() > size && std::string_view(" \t\r").find(line[size]) == std::string_view::npos)) return false;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (wanted.comment != nullptr) *wanted.comment = line.substr(std::min(size + 1, line.size()));
      return true;
    }
  }

  void read_text(std::uint64_t offset, char* to, std::size_t bytes) {
    const auto wrong_index = [&] {
      file_->fail("is shorter than its index says", "remove the .fai and .gzi files beside it: they are made anew when missing");
    };
    if (!cache_) {
      if (file_->read_for(*lookup_, offset, to, bytes) != bytes) wrong_index();
      return;
    }
    const std::vector<Block>& blocks = cache_->blocks();
    auto behind = std::upper_bound(blocks.begin(), blocks.end(), offset, [](std::uint64_t o, const Block& b) { return o < b.text_offset; });
    if (behind == blocks.begin()) wrong_index();
    for (auto block = static_cast<std::size_t>(behind - blocks.begin()) - 1; bytes != 0; ++block) {
      if (block + 1 >= blocks.size()) wrong_index();
      const BlockCache::Text text = block_text(block);
      const auto from = static_cast<std::size_t>(offset - blocks[block].text_offset);
      const std::size_t part = std::min(bytes, static_cast<std::size_t>(blocks[block + 1].text_offset - blocks[block].text_offset) - from);
      std::memcpy(to, text.get() + from, part);
      to += part;
      offset += part;
      bytes -= part;
    }
  }

  // Two threads that want the same block at the same time both make it, which is better than one waiting for the other.
  BlockCache::Text block_text(std::size_t block) {
    if (BlockCache::Text text = cache_->find(block)) return text;
    const Block &here = cache_->blocks()[block], &next = cache_->blocks()[block + 1];
    const auto bytes = static_cast<std::size_t>(next.file_offset - here.file_offset);
    const auto text_bytes = static_cast<std::size_t>(next.text_offset - here.text_offset);
    std::vector<char>& compressed = scratch_->compressed;
    compressed.resize(BgzfBlock::most_bytes);
    const std::shared_ptr<char[]> text(new char[std::max<std::size_t>(text_bytes, 1)]);
    if (bytes > BgzfBlock::most_bytes || bytes < BgzfBlock::header_bytes + BgzfBlock::footer_bytes ||
        file_->read_for(*lookup_, here.file_offset, compressed.data(), bytes) != bytes || BgzfBlock::bytes(compressed.data()) != bytes ||
        !scratch_->inflater.inflate({compressed.data(), bytes}, text.get(), text_bytes))
      file_->fail("has no whole BGZF block of " + std::to_string(text_bytes) + " bytes of text at byte " + std::to_string(here.file_offset),
                  "copy the file again and compare checksums; if it was changed, remove the .fai and .gzi files beside it");
    cache_->put(block, text);
    return text;
  }

  SequenceFile* file_;
  Lookup* lookup_;
  std::shared_ptr<BlockCache> cache_;
  Workspaces<Scratch>::Lease scratch_;
};

void SequenceFile::fetch(std::span<const Wanted> wanted, const ParallelFor& parallel_for) {
  Lookup lookup{wanted, {}};
  std::mutex mutex;  // guards failure and its place
  std::exception_ptr failure;
  std::atomic<std::size_t> failed{wanted.size()};
  parallel_for(wanted.size(), reads_at_once, [&](std::size_t begin, std::size_t end) {
    Reader reader(*this, lookup);
    for (std::size_t i = begin; i < end && i < failed; ++i) {
      try {
        reader.fetch(wanted[i]);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (i < failed) failure = std::current_exception(), failed = i;
      }
    }
  });
  if (failure) std::rethrow_exception(failure);
}

// False: they were counted already.
bool SequenceFile::count_blocks_anew(const std::shared_ptr<BlockCache>& wrong) {
  if (!wrong || wrong->from() == BlockCache::From::file) return false;
  const std::lock_guard lock(mutex_);
  if (cache_ != wrong) return true;  // by another thread
  cache_ = std::make_shared<BlockCache>(walk_blocks(), BlockCache::From::file);
  if (keep_index_ && may_write_beside(path_)) keep_file(path_ + ".gzi", gzi_of_blocks());
  return true;
}

// The places of all reads of a batch go to the kernel at once, so that a disk or a network has many requests to work on while the first is waited
// for. What is in memory already costs nothing but the read.
std::size_t SequenceFile::read_for(Lookup& lookup, std::uint64_t offset, char* to, std::size_t bytes) const {
  iovec rest{to, bytes};
  const ssize_t there = ::preadv2(file_.number, &rest, 1, static_cast<off_t>(offset), RWF_NOWAIT);
  if (there == static_cast<ssize_t>(bytes)) return bytes;
  std::call_once(lookup.told, [&] { tell_kernel(lookup); });
  const std::size_t got = there > 0 ? static_cast<std::size_t>(there) : 0;
  return got + read_file(offset + got, to + got, bytes - got);
}

void SequenceFile::tell_kernel(const Lookup& lookup) const {
  const std::shared_ptr<BlockCache> cache = this->cache();
  std::uint64_t told = 0;
  for (const Wanted& wanted : lookup.wanted) {
    std::uint64_t begin = wanted.place->offset, end = begin + wanted.place->text_bytes().value_or(0);
    begin -= std::min(begin, usual_header_bytes);
    if (cache) {
      const auto block_behind = [&](std::uint64_t offset) {
        return std::upper_bound(cache->blocks().begin(), cache->blocks().end(), offset,
                                [](std::uint64_t o, const Block& b) { return o < b.text_offset; });
      };
      const auto first = block_behind(begin), last = block_behind(end);
      begin = first == cache->blocks().begin() ? 0 : std::prev(first)->file_offset;
      end = last == cache->blocks().end() ? file_bytes_ : last->file_offset;
    }
    begin = std::max(begin, told);
    if (begin < end) ::posix_fadvise(file_.number, static_cast<off_t>(begin), static_cast<off_t>(end - begin), POSIX_FADV_WILLNEED);
    told = std::max(told, end);
  }
}

}  // namespace sluice::read_bases
